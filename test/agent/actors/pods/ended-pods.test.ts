import { describe, expect, test } from '@jest/globals';
import type { PodEntry } from '../../../../src/agent/actors/pods/pod-registry.ts';
import { EndedPods } from '../../../../src/agent/actors/pods/ended-pods.ts';
import type { EndedPod } from '../../../../src/agent/policies/termination/ended-pod.ts';
import type { KillPodOptions } from '../../../../src/agent/policies/termination/pod-termination.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { apiPod, staticPod } from '../../../support/agent.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const RESTARTING = { actor: { getSnapshot: () => ({ context: { restartRequested: true } }) } } as PodEntry;

/** A store whose writes the test may let fail, or hold back. */
function bed(pods: readonly Pod[], stored: readonly EndedPod[] = []) {
  const wanted = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const { logger, lines } = recordingLogger();
  const writes: string[][] = [];
  const kills: [string, KillPodOptions | undefined][] = [];
  const store: { problem?: Error; held?: Promise<unknown> } = {};
  const restarting = new Set<string>();
  const deleted = new EndedPods(testContext({ logger }), {
    store: {
      stored,
      write: async (list) => {
        await store.held;
        if (store.problem) throw store.problem;
        writes.push(list.map(({ uid }) => uid));
      },
    },
    registry: {
      kill: (uid, options) => kills.push([uid, options]) > 0,
      get: (uid) => (restarting.has(uid) ? RESTARTING : undefined),
    },
    desired: { get: (uid) => wanted.get(uid) },
  });
  return { deleted, writes, kills, store, lines, restarting };
}

const web = staticPod('web', 'uid-web');
const FULL = new Error('ENOSPC: no space left on device');

describe('13: a pod that a person deletes', () => {
  test('is killed with the grace period, after the deletion has been written', async () => {
    const { deleted, writes, kills, store } = bed([web]);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    store.held = promise;
    const deletion = deleted.delete('uid-web', 3);
    await Promise.resolve();
    expect(kills).toEqual([]);
    resolve(undefined);
    await deletion;
    expect(writes).toEqual([['uid-web']]);
    expect(kills).toMatchObject([['uid-web', { podTerminationGracePeriodSecondsOverride: 3 }]]);
    expect(deleted.of(web)).toMatchObject({ uid: 'uid-web', gracePeriodSeconds: 3 });
  });

  test('is not killed where the deletion cannot be written', async () => {
    const { deleted, kills, store } = bed([web]);
    store.problem = FULL;
    await expect(deleted.delete('uid-web')).rejects.toMatchObject({
      kind: 'Unavailable',
      message: 'the pod is not deleted, because this cannot be kept: ENOSPC: no space left on device',
    });
    expect(kills).toEqual([]);
    expect(deleted.of(web)).toBeUndefined();
  });

  test('stays deleted, as before, where a second deletion cannot be written', async () => {
    const { deleted, store } = bed([web]);
    await deleted.delete('uid-web', 30);
    store.problem = FULL;
    await expect(deleted.delete('uid-web', 1)).rejects.toThrow('ENOSPC');
    expect(deleted.of(web)).toMatchObject({ gracePeriodSeconds: 30 });
  });

  test('is not killed if its manifest changes while the deletion is written', async () => {
    const { deleted, kills, writes } = bed([web]);
    const deletion = deleted.delete('uid-web');
    expect(deleted.forget('uid-web')).toBe(true);
    await deletion;
    expect(kills).toEqual([]);
    expect(writes.at(-1)).toEqual([]);
  });

  test('must be known, and be a static one', async () => {
    const { deleted, writes } = bed([apiPod('job', 'uid-job')]);
    await expect(deleted.delete('uid-web')).rejects.toMatchObject({ kind: 'NotFound' });
    await expect(deleted.delete('uid-job')).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message:
        'pod default/job belongs to the API server; delete it there: kubectl delete pod job --namespace default',
    });
    expect(writes).toEqual([]);
  });
});

describe('after a restart of the agent', () => {
  async function stored() {
    const before: EndedPod[] = [];
    const deleted = new EndedPods(testContext(), {
      store: {
        stored: [],
        write: (pods) => {
          before.push(...pods);
          return Promise.resolve();
        },
      },
      registry: { kill: () => true, get: () => undefined },
      desired: { get: () => web },
    });
    await deleted.delete('uid-web');
    return before;
  }

  test('the pod is still deleted; the file has nothing of its manifest in plain text', async () => {
    const before = await stored();
    expect(JSON.stringify(before)).not.toContain('sleep');
    expect(bed([web], before).deleted.of(web)).toMatchObject({ uid: 'uid-web' });
  });

  test('a pod that keeps its UID and has another manifest is not', async () => {
    const { deleted, writes } = bed([web], await stored());
    const changed = staticPod('web', 'uid-web', { hostname: 'other' });
    expect(deleted.of(changed)).toBeUndefined();
    await new Promise(setImmediate);
    expect(writes).toEqual([[]]);
    expect(deleted.of(web)).toBeUndefined();
  });
});

test('pods that no source wants are forgotten; a write that fails is tried again at the next housekeeping', async () => {
  const { deleted, writes, store, lines } = bed([web], [{ uid: 'gone' }]);
  store.problem = FULL;
  deleted.keepOnly((uid) => uid === 'uid-web');
  await new Promise(setImmediate);
  deleted.keepOnly(() => true);
  await new Promise(setImmediate);
  expect(lines).toEqual([
    {
      level: 'warn',
      message:
        'The list of ended pods cannot be written, will be tried again: ENOSPC: no space left on device',
    },
  ]);
  delete store.problem;
  deleted.keepOnly(() => true);
  await new Promise(setImmediate);
  deleted.keepOnly(() => true);
  await new Promise(setImmediate);
  expect(writes).toEqual([[]]);
});

describe('14: an ordinary pod of a manifest', () => {
  const job: Pod = {
    ...web,
    metadata: {
      ...web.metadata,
      uid: 'uid-job',
      annotations: { 'kubernetes.io/config.source': 'local' },
    },
  };
  const FAILED = { phase: 'Failed', reason: 'Evicted' };

  test('that has failed or succeeded is kept with its status, and written once', async () => {
    const { deleted: ended, writes } = bed([job]);
    ended.record('uid-job', { phase: 'Running' });
    expect(ended.of(job)).toBeUndefined();
    ended.record('uid-job', FAILED);
    await ended.kept();
    ended.record('uid-job', { ...FAILED });
    await ended.kept();
    expect(ended.of(job)).toEqual({ uid: 'uid-job', content: expect.any(String), status: FAILED });
    expect(writes).toEqual([['uid-job']]);
  });

  test('changes that come during a write are one more write', async () => {
    const { deleted: ended, writes, store } = bed([job]);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    store.held = promise;
    ended.record('uid-job', FAILED);
    await new Promise(setImmediate);
    for (const message of ['a', 'b', 'c']) ended.record('uid-job', { ...FAILED, message });
    resolve(undefined);
    await ended.kept();
    expect(writes).toHaveLength(2);
    expect(ended.of(job)?.status?.message).toBe('c');
  });

  test.each([
    ['a static one', web, (ended: EndedPods) => ended.record('uid-web', FAILED)],
    [
      'one of the API server',
      apiPod('web', 'uid-web'),
      (ended: EndedPods) => ended.record('uid-web', FAILED),
    ],
    ['one that is not wanted', job, (ended: EndedPods) => ended.record('uid-other', FAILED)],
  ])('%s is not', async (_, pod, record) => {
    const { deleted: ended, writes } = bed([pod]);
    record(ended);
    await ended.kept();
    expect(writes).toEqual([]);
  });

  test('that ends while it is wanted anew is not', async () => {
    const { deleted: ended, writes, restarting } = bed([job]);
    restarting.add('uid-job');
    ended.record('uid-job', FAILED);
    await ended.kept();
    expect(writes).toEqual([]);
  });

  test('that ends with its agent is not', async () => {
    const { deleted: ended, writes } = bed([job]);
    ended.close();
    ended.record('uid-job', FAILED);
    await ended.kept();
    expect(writes).toEqual([]);
  });

  test('can be deleted, before and after its end; its status stays', async () => {
    const { deleted: ended, kills } = bed([job]);
    await ended.delete('uid-job', 3);
    expect(ended.of(job)).toEqual({ uid: 'uid-job', gracePeriodSeconds: 3, content: expect.any(String) });
    ended.record('uid-job', FAILED);
    await ended.delete('uid-job');
    expect(ended.of(job)?.status).toEqual(FAILED);
    expect(kills).toHaveLength(2);
  });

  test('is finished even if its end cannot be written; that is logged, and tried again', async () => {
    const { deleted: ended, writes, store, lines } = bed([job]);
    store.problem = FULL;
    ended.record('uid-job', FAILED);
    await ended.kept();
    expect(lines).toHaveLength(1);
    delete store.problem;
    ended.keepOnly(() => true);
    await ended.kept();
    expect(writes).toEqual([['uid-job']]);
  });
});
