import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { bound, clock, desired, manager, ownsNode, running, server, writer } from './status-writer-bed.ts';

const RUNNING = { phase: 'Running' };
const SUCCEEDED = { phase: 'Succeeded' };
const MIRROR = { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'api' };

/** The source has seen the pod as it is at the server. */
function seen(name: string): Pod {
  const pod = server.pods.get(name);
  if (pod === undefined) throw new Error(`the server has no ${name}`);
  desired.set(pod);
  return pod;
}

const noAnswer = () => {
  throw new StateletError('Unavailable', 'connect ECONNREFUSED');
};

describe('a new status', () => {
  test('is written at once: the pod is read, and what differs is patched, with the UID', async () => {
    const pod = bound('web');
    manager.set(pod, RUNNING);
    await clock.advance(0);
    expect(server.requests).toEqual(['get web', 'patch web']);
    expect(server.patches).toEqual([
      { metadata: { uid: pod.metadata.uid }, status: { phase: 'Running', qosClass: null } },
    ]);
    expect(writer.lagging).toBe(0);
  });

  test('that is the same as before costs no request', async () => {
    const pod = bound('web');
    manager.set(pod, RUNNING);
    await clock.advance(0);
    manager.set(pod, RUNNING);
    await clock.advance(0);
    expect(server.requests).toHaveLength(2);
  });

  test('of many, the newest is written: while one is under way, the others wait for it', async () => {
    const pod = bound('web');
    const { promise, resolve } = Promise.withResolvers<undefined>();
    server.before = () => promise;
    for (let count = 1; count <= 100; count += 1) {
      manager.set(pod, { phase: 'Running', message: `change ${count}` });
      await clock.advance(0);
    }
    expect(server.requests).toEqual(['get web']);
    resolve(undefined);
    await clock.advance(0);
    expect(server.patches.map(({ status }) => status.message)).toEqual(['change 1', 'change 100']);
  });

  describe('of a pod that no node has begun', () => {
    const untold = (name: string) => bound(name, {}, true);

    test('is written without reading the pod first, with the UID', async () => {
      const pod = untold('web');
      manager.set(pod, RUNNING);
      await clock.advance(0);
      expect(server.requests).toEqual(['patch web']);
      const status = { phase: 'Running', qosClass: null, startTime: '2030-01-01T00:00:00Z' };
      expect(server.patches).toEqual([{ metadata: { uid: pod.metadata.uid }, status }]);
    });

    test('goes to no pod that has taken the name', async () => {
      const pod = untold('web');
      server.put({ ...testPod({ name: 'web', uid: 'another' }), status: { phase: 'Pending' } });
      manager.set(pod, RUNNING);
      await clock.advance(0);
      expect(server.requests).toEqual(['patch web', 'get web']);
      expect(server.statusOf('web')).toEqual({ phase: 'Pending' });
    });

    test('is written after reading the pod if the answer to the first write was lost', async () => {
      server.before = noAnswer;
      const pod = untold('web');
      manager.set(pod, { ...RUNNING, message: 'first' });
      await clock.advance(0);
      server.before = () => undefined;
      manager.set(pod, RUNNING);
      await clock.advance(5_000);
      expect(server.requests).toEqual(['patch web', 'get web', 'patch web']);
      expect(server.statusOf('web')).not.toHaveProperty('message');
    });

    test('that is terminal is written after reading the pod', async () => {
      manager.set(untold('web'), SUCCEEDED);
      await clock.advance(0);
      expect(server.requests).toEqual(['get web', 'patch web']);
    });
  });

  describe('of a pod whose sandbox is ready', () => {
    const SANDBOX = { type: 'PodReadyToStartContainers', status: 'True' };
    const conditions = () => server.statusOf('web')?.conditions ?? [];
    let pod: Pod;

    beforeEach(async () => {
      pod = bound('web');
      manager.set(pod, { phase: 'Pending', conditions: [{ ...SANDBOX, status: 'False' }] });
      await clock.advance(0);
      server.requests.length = 0;
      manager.sandboxReady(pod);
      await clock.advance(999);
    });

    test('waits for the status that follows, and is written with it', async () => {
      expect(server.requests).toEqual([]);
      manager.set(pod, { phase: 'Running', conditions: [SANDBOX] });
      await clock.advance(0);
      expect(server.requests).toEqual(['patch web']);
      expect(conditions()).toMatchObject([SANDBOX]);
      await clock.advance(1_000);
      expect(server.requests).toEqual(['patch web']);
    });

    test('is written after a second if none follows', async () => {
      await clock.advance(1);
      expect(server.requests).toEqual(['patch web']);
      expect(conditions()).toMatchObject([SANDBOX]);
    });

    test('waits also while statuses of other pods are written', async () => {
      manager.set(bound('other'), RUNNING);
      await clock.advance(0);
      expect(server.requests).toEqual(['get other', 'patch other']);
    });

    test('is written before an agent ends', async () => {
      await writer.flush();
      expect(conditions()).toMatchObject([SANDBOX]);
    });
  });

  describe('of a ready sandbox, while the status before it is being written', () => {
    const FIRST = { phase: 'Pending', message: 'first' };
    const SANDBOX = { type: 'PodReadyToStartContainers', status: 'True' };
    let pod: Pod;
    let answer: (error?: Error) => void;

    beforeEach(async () => {
      pod = bound('web');
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      answer = (error) => (error === undefined ? resolve(undefined) : reject(error));
      server.before = (request) => (request === 'patch web' ? promise : undefined);
      manager.set(pod, FIRST);
      await clock.advance(0);
      manager.sandboxReady(pod);
      await clock.advance(0);
    });

    test('waits for the status that follows', async () => {
      answer();
      await clock.advance(999);
      expect(server.requests).toEqual(['get web', 'patch web']);
      manager.set(pod, RUNNING);
      await clock.advance(0);
      expect(server.requests).toEqual(['get web', 'patch web', 'patch web']);
    });

    test('is written after a second if none follows', async () => {
      answer();
      await clock.advance(1_000);
      expect(server.requests).toEqual(['get web', 'patch web', 'patch web']);
      expect(server.statusOf('web')).toMatchObject({ ...FIRST, conditions: [SANDBOX] });
    });

    test('is written with it where the server did not take it', async () => {
      answer(new StateletError('Unavailable', 'no answer'));
      server.before = () => undefined;
      await clock.advance(5_000);
      expect(server.statusOf('web')).toMatchObject({ ...FIRST, conditions: [SANDBOX] });
    });
  });

  test('of a ready sandbox does not delay the status before it', async () => {
    const pod = bound('web');
    manager.set(pod, { phase: 'Pending', message: 'first' });
    manager.sandboxReady(pod);
    await clock.advance(0);
    expect(server.statusOf('web')).toMatchObject({ message: 'first' });
  });

  describe('soon after the server has answered', () => {
    let pod: Pod;
    const restarted = (count: number) => ({ phase: 'Running', message: `change ${count}` });

    beforeEach(async () => {
      pod = bound('web');
      manager.set(pod, RUNNING);
      await clock.advance(0);
      server.requests.length = 0;
    });

    test('is written without reading the pod again', async () => {
      manager.set(pod, restarted(1));
      await clock.advance(0);
      expect(server.requests).toEqual(['patch web']);
      expect(server.patches.at(-1)?.status).toEqual({ message: 'change 1' });
    });

    test('is written after reading the pod once the answer is old', async () => {
      seen('web');
      await clock.advance(10_000);
      manager.set(pod, restarted(1));
      await clock.advance(0);
      expect(server.requests).toEqual(['get web', 'patch web']);
    });

    test('goes to no pod that has taken the name', async () => {
      server.put({ ...testPod({ name: 'web', uid: 'another' }), status: { phase: 'Pending' } });
      manager.set(pod, restarted(1));
      await clock.advance(0);
      expect(server.requests).toEqual(['patch web', 'get web']);
      expect(server.statusOf('web')).toEqual({ phase: 'Pending' });
    });

    test('is not written to a pod that is gone', async () => {
      server.pods.clear();
      manager.set(pod, restarted(1));
      await clock.advance(0);
      expect(server.requests).toEqual(['patch web']);
      expect(writer.lagging).toBe(0);
    });

    test('is written after reading the pod if the answer to the last write was lost', async () => {
      server.before = noAnswer;
      manager.set(pod, restarted(1));
      await clock.advance(0);
      server.before = () => undefined;
      await clock.advance(5_000);
      expect(server.requests).toEqual(['patch web', 'get web', 'patch web']);
      expect(server.statusOf('web')?.message).toBe('change 1');
    });

    test('that is terminal is written after reading the pod', async () => {
      manager.set(pod, SUCCEEDED);
      await clock.advance(0);
      expect(server.requests).toEqual(['get web', 'patch web']);
    });

    test('is compared later, and changes by other clients are corrected', async () => {
      server.put({ ...pod, status: { ...server.statusOf('web'), phase: 'Pending' } });
      seen('web');
      manager.set(pod, restarted(1));
      await clock.advance(0);
      expect(server.requests).toEqual(['patch web']);
      await clock.advance(10_000);
      expect(server.requests).toEqual(['patch web', 'get web', 'patch web']);
      expect(server.statusOf('web')).toMatchObject(restarted(1));
    });
  });

  test('of another pod is not delayed by a write that gets no answer', async () => {
    const [slow, fast] = [bound('slow'), bound('fast')];
    server.before = (request) => (request.endsWith('slow') ? new Promise(() => undefined) : undefined);
    manager.set(slow, RUNNING);
    await clock.advance(0);
    manager.set(fast, RUNNING);
    await clock.advance(0);
    expect(server.statusOf('fast')?.phase).toBe('Running');
  });

  test('leads to a check of this pod only, and not of all other pods', async () => {
    const web = bound('web');
    const looks: number[] = [];
    let others = 0;
    for (const count of [10, 1_000]) {
      for (; others < count; others += 1) manager.set(bound(`other-${others}`), RUNNING);
      await clock.advance(0);
      const look = jest.spyOn(desired, 'get');
      manager.set(web, { phase: 'Running', message: `beside ${count}` });
      await clock.advance(0);
      looks.push(look.mock.calls.length);
      look.mockRestore();
    }
    expect(looks[1]).toBe(looks[0]);
    expect(writer.lagging).toBe(0);
  });

  test('keeps the conditions that others have set', async () => {
    const pod = bound('web');
    const gate = { type: 'example.com/gate', status: 'True' };
    server.put({ ...pod, status: { phase: 'Pending', conditions: [gate] } });
    manager.set(pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
    await clock.advance(0);
    expect(server.statusOf('web')?.conditions).toMatchObject([gate, { type: 'Ready', status: 'True' }]);
  });

  test('goes to no pod that has taken the name', async () => {
    const pod = bound('web');
    server.put({ ...testPod({ name: 'web', uid: 'another' }), status: { phase: 'Pending' } });
    manager.set(pod, RUNNING);
    await clock.advance(0);
    expect(server.requests).toEqual(['get web']);
    expect(manager.get(pod.metadata.uid)).toBeUndefined();
  });

  test('of a pod that the server does not have is not sent again', async () => {
    const [gone, other] = [bound('gone'), bound('other')];
    server.pods.delete('gone');
    manager.set(gone, RUNNING);
    await clock.advance(0);
    manager.set(other, RUNNING);
    await clock.advance(0);
    expect(server.requests).toEqual(['get gone', 'get other', 'patch other']);
  });
});

describe('a flush', () => {
  test('ends when every status is written', async () => {
    const pods = Array.from({ length: 10 }, (_, i) => bound(`web-${i}`));
    for (const pod of pods) manager.set(pod, RUNNING);
    await writer.flush();
    expect(server.patches).toHaveLength(10);
    await writer.flush();
  });

  test('ends when the server does not answer', async () => {
    server.before = noAnswer;
    manager.set(bound('web'), RUNNING);
    await writer.flush();
    expect(writer.lagging).toBe(1);
  });
});

describe('a Node object that another machine has taken', () => {
  test('stops all status writes; the waiting ones are sent once the object belongs to this machine again', async () => {
    const pod = bound('web');
    ownsNode(false);
    manager.set(pod, RUNNING);
    await clock.advance(60_000);
    expect(server.requests).toEqual([]);
    ownsNode(true);
    await clock.advance(10_000);
    expect(server.statusOf('web')?.phase).toBe('Running');
  });

  test('also stops the status writes that waited for the server', async () => {
    const pod = bound('web');
    server.before = noAnswer;
    manager.set(pod, RUNNING);
    await clock.advance(0);
    ownsNode(false);
    server.before = () => undefined;
    await clock.advance(60_000);
    expect(server.patches).toEqual([]);
  });
});

describe('every 10 s', () => {
  test('no request is sent if no status differs', async () => {
    const pod = bound('web');
    manager.set(pod, { ...RUNNING, qosClass: 'BestEffort' });
    await clock.advance(0);
    seen('web');
    await clock.advance(60_000);
    expect(server.requests).toHaveLength(2);
  });

  test('a status that other clients have changed is corrected', async () => {
    const pod = bound('web');
    manager.set(pod, RUNNING);
    await clock.advance(0);
    server.put({ ...pod, status: { ...server.statusOf('web'), phase: 'Unknown' } });
    seen('web');
    await clock.advance(10_000);
    expect(server.statusOf('web')?.phase).toBe('Running');
  });
});

describe('the end of a pod', () => {
  test('a terminal phase is written only when no container can run: until then the phase stays, and the other fields are written', async () => {
    const pod = bound('job');
    const { uid } = pod.metadata;
    running.add(uid);
    manager.set(pod, { ...SUCCEEDED, podIP: '10.0.0.7' });
    await clock.advance(0);
    expect(server.statusOf('job')).toMatchObject({ phase: 'Pending', podIP: '10.0.0.7' });
    running.delete(uid);
    manager.terminate(pod);
    await clock.advance(0);
    expect(server.statusOf('job')?.phase).toBe('Succeeded');
    expect(server.pods.has('job')).toBe(true);
  });

  test('lets the server forget a pod that is being deleted, after its last status and with its UID', async () => {
    const pod = bound('web', { deleted: true });
    manager.set(pod, { phase: 'Failed' });
    await clock.advance(0);
    expect(server.requests).toEqual(['get web', 'patch web']);
    manager.terminate(pod);
    await clock.advance(0);
    expect(server.requests.slice(2)).toEqual(['get web', 'delete web']);
    expect(manager.get(pod.metadata.uid)).toBeUndefined();
  });

  test('is sent again where the answer to the deletion was lost; then it is known that the pod is gone', async () => {
    const pod = bound('web', { deleted: true });
    server.before = (request) => {
      if (request !== 'delete web') return;
      server.pods.delete('web');
      noAnswer();
    };
    manager.terminate(pod);
    await clock.advance(1_000);
    expect(server.requests).toEqual(['get web', 'patch web', 'delete web', 'get web']);
    expect(writer.lagging).toBe(0);
  });

  test('is written together with the deletion, if that comes later', async () => {
    const pod = bound('job');
    manager.set(pod, SUCCEEDED);
    manager.terminate(pod);
    await clock.advance(0);
    server.put({
      ...pod,
      ...server.pods.get('job'),
      metadata: { ...pod.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' },
    });
    seen('job');
    await clock.advance(10_000);
    expect(server.pods.has('job')).toBe(false);
  });
});

describe('a static pod', () => {
  const fixed = testPod({ name: 'fixed', annotations: { 'kubernetes.io/config.source': 'file' } });
  const mirror = (uid: string): Pod => ({
    ...testPod({ name: 'fixed', uid, annotations: MIRROR }),
    status: { phase: 'Pending' },
  });

  test('has no status at the server without a mirror pod; each of its mirror pods gets the status', async () => {
    desired.set(fixed);
    manager.set(fixed, RUNNING);
    await clock.advance(10_000);
    expect(server.requests).toEqual([]);
    for (const uid of ['mirror-1', 'mirror-2']) {
      server.put(mirror(uid));
      desired.set(mirror(uid));
      writer.wake();
      await clock.advance(0);
    }
    expect(server.patches.map(({ metadata }) => metadata.uid)).toEqual(['mirror-1', 'mirror-2']);
  });

  test('that has ended does not delete its mirror pod', async () => {
    const ending = {
      ...mirror('mirror-1'),
      metadata: { ...mirror('mirror-1').metadata, deletionTimestamp: '2030-01-01T00:00:00Z' },
    };
    for (const pod of [fixed, ending]) desired.set(pod);
    server.put(ending);
    manager.set(fixed, SUCCEEDED);
    manager.terminate(fixed);
    await clock.advance(20_000);
    expect(server.requests).not.toContain('delete fixed');
  });
});
