/** Each invariant is reported where it is violated, and not where it is not: a judge that never complains proves nothing. */
import { describe, expect, test } from '@jest/globals';
import type { PodEvent } from '../../../src/machines/pod-machine.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/policies/pod/pod-kinds.ts';
import { secondInstance } from '../../../src/simulation/judges/judge.ts';
import { testPod } from '../../support/pods.ts';
import { AT_REST, call, CLEANED_UP, container, Court, killed, sandbox, STOPPED, SYNCED } from './court.ts';

const staticPod = (uid: string, name = 'web') =>
  testPod({ name, uid, annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } });

test('a whole life in good order violates nothing', () => {
  const court = new Court();
  const pod = court.settled();
  pod.send({ type: 'SyncPodUpdate', pod: testPod() }, SYNCED, { type: 'SyncPodSync' });
  pod.send(killed(30), killed(10), AT_REST, killed(60), killed(5), AT_REST, STOPPED, CLEANED_UP);
  expect(pod.snapshot.value).toEqual({ Terminated: 'Finished' });
  expect(court.violations).toEqual([]);
});

test('a violation names the node, the pod and its UID', () => {
  const court = new Court();
  const pod = court.settled();
  court.sandboxes.push(sandbox(true));
  pod.send(killed(), STOPPED);
  expect(court.violations).toEqual([
    {
      ...{ invariant: 'I3', node: 3, name: 'web', uid: 'uid-of-web' },
      what: 'sandbox s1 is ready as the pod becomes Terminated',
    },
  ]);
});

test('the judge says whether a pod is in another state than before, and whether it has ended', () => {
  const court = new Court();
  const pod = court.settled();
  expect(pod.show(pod.snapshot)).toBe(false);
  const { snapshot } = pod;
  pod.send({ type: 'SyncPodSync' });
  expect(pod.show(snapshot)).toBe(true);
  pod.send(SYNCED, killed());
  expect(court.judge.hasEnded('uid-of-web')).toBe(false);
  pod.send(STOPPED);
  expect([court.judge.hasEnded('uid-of-web'), court.judge.hasEnded('uid-of-db')]).toEqual([true, false]);
});

describe('I1: a pod moves forward only', () => {
  test('from Terminating back to Syncing', () => {
    const court = new Court();
    const pod = court.settled();
    const settled = pod.snapshot;
    pod.send(killed());
    expect(court.reported).toEqual([]);
    pod.show(settled);
    expect(court.reported).toContain('I1: Terminating.Stopping, then Syncing');
  });

  test('from Terminated back to Terminating', () => {
    const court = new Court();
    const pod = court.settled().send(killed());
    const stopping = pod.snapshot;
    pod.send(STOPPED);
    expect(court.reported).toEqual([]);
    pod.show(stopping);
    expect(court.reported).toContain('I1: Terminated.CleaningUp, then Terminating');
  });

  test('another incarnation of the UID begins anew', () => {
    const court = new Court();
    court.settled().send(killed(), STOPPED, CLEANED_UP);
    court.settled();
    expect(court.reported).toEqual([]);
  });
});

describe('I2: nothing that may start a container once the pod is Terminating', () => {
  const STARTS = ['RunPodSandbox', 'CreateContainer', 'StartContainer'] as const;

  test.each(STARTS)('%s in flight as the pod becomes Terminating', (name) => {
    const court = new Court();
    const pod = court.settled();
    court.calls.push(call(name));
    pod.send(killed());
    expect(court.reported).toContain(`I2: ${name} is in flight as the pod becomes Terminating`);
  });

  test('StartContainer in flight as the pod becomes Terminated at once', () => {
    const court = new Court();
    const pod = court.pod();
    court.calls.push(call('StartContainer'));
    pod.send(killed());
    expect(court.reported).toContain('I2: StartContainer is in flight as the pod becomes Terminated');
  });

  test.each([
    ['that was given up', call('StartContainer', { abandoned: true })],
    ['of an agent before this one', call('StartContainer', { connection: 1 })],
    ['of another pod', call('StartContainer', { uid: 'uid-of-db' })],
    ['that only reads', call('ContainerStatus')],
  ])('a call in flight %s is none of it', (_, other) => {
    const court = new Court();
    const pod = court.settled();
    court.calls.push(other);
    pod.send(killed());
    expect(court.reported).toEqual([]);
  });

  test.each<[string, readonly PodEvent[]]>([
    ['Syncing.Draining', [{ type: 'SyncPodSync' }, killed()]],
    ['Terminating.Stopping', [killed()]],
    ['Terminated.CleaningUp', [killed(), STOPPED]],
    ['Terminated.Finished', [killed(), STOPPED, CLEANED_UP]],
  ])('issued in %s', (state, events) => {
    const court = new Court();
    court.settled().send(...events);
    expect(court.reported).toEqual([]);
    for (const name of STARTS) court.judge.callBegan(call(name));
    expect(court.reported).toEqual(STARTS.map((name) => `I2: ${name} is issued in ${state}`));
  });

  test('issued before the pod has leave to start', () => {
    const court = new Court();
    court.pod();
    court.judge.callBegan(call('RunPodSandbox'));
    expect(court.reported).toEqual(['I2: RunPodSandbox is issued in Syncing.AwaitingStart']);
  });

  test('issued for a pod that nobody knows', () => {
    const court = new Court();
    court.judge.callBegan(call('RunPodSandbox'));
    expect(court.reported).toEqual(['I2: RunPodSandbox is issued for a pod that has no actor']);
    expect(court.violations).toMatchObject([{ uid: 'uid-of-web' }]);
  });

  test('issued while the pod is being synced, or by an agent before this one, or stopping something: none of it', () => {
    const court = new Court();
    const pod = court.pod().send({ type: 'START_GRANTED' });
    for (const name of STARTS) court.judge.callBegan(call(name));
    pod.send(killed(), AT_REST);
    court.judge.callBegan(call('StartContainer', { connection: 1 }));
    court.judge.callBegan(call('StopContainer'));
    expect(court.reported).toEqual([]);
  });
});

describe('I3: Terminated means that nothing runs', () => {
  test.each([
    ['a container that runs', sandbox(false, container('c1')), 'main runs as the pod becomes Terminated'],
    ['a sandbox that is ready', sandbox(true), 'sandbox s1 is ready as the pod becomes Terminated'],
  ])('%s', (_, held, what) => {
    const court = new Court();
    court.sandboxes.push(held);
    const pod = court.settled().send(killed());
    expect(court.reported).toEqual([]);
    pod.send(STOPPED);
    expect(court.reported).toEqual([`I3: ${what}`]);
  });

  test('is asked of a pod that becomes Terminated without having been stopped as well', () => {
    const court = new Court();
    court.sandboxes.push(sandbox(true));
    court.pod().send(killed());
    expect(court.reported).toEqual(['I3: sandbox s1 is ready as the pod becomes Terminated']);
  });

  test('what a call has started that was given up is not the doing of the effect at work, but of the next one', () => {
    const court = new Court();
    const first = court.settled().send(killed());
    court.sandboxes.push(sandbox(true));
    court.judge.landedLate(first.snapshot.context.uid);
    first.send(STOPPED);
    expect(court.reported).toEqual([]);

    const other = new Court();
    other.sandboxes.push(sandbox(true));
    const pod = other.settled();
    other.judge.landedLate(pod.snapshot.context.uid);
    pod.send(killed(), STOPPED);
    expect(other.reported).toEqual(['I3: sandbox s1 is ready as the pod becomes Terminated']);
  });

  test('what has ended may be left', () => {
    const court = new Court();
    court.sandboxes.push(sandbox(false, container('c1', { state: 'CONTAINER_EXITED' })));
    court.settled().send(killed(), STOPPED);
    expect(court.reported).toEqual([]);
  });
});

describe('I5: at most one effect is in flight', () => {
  test('an effect begins beside another one', () => {
    const court = new Court();
    court.pod().send({ type: 'START_GRANTED' }).begin('syncPod');
    expect(court.reported).toEqual(['I5: syncPod begins beside syncPod']);
  });

  test('an effect begins while a call of the one before is in flight', () => {
    const court = new Court();
    const pod = court.settled();
    court.calls.push(call('StopContainer'));
    pod.begin('cleanUpPod');
    expect(court.reported).toEqual(['I5: cleanUpPod begins while StopContainer is in flight']);
  });

  test('what is left of a former life may go while this one ends, but not while it starts', () => {
    const court = new Court();
    const pod = court.settled();
    court.calls.push(call('RemoveContainer'));
    pod.send(killed());
    expect(court.reported).toEqual([]);
    court.settled();
    expect(court.reported).toContain('I5: syncPod begins while RemoveContainer is in flight');
  });

  test.each([
    ['that was given up', call('StopContainer', { abandoned: true })],
    ['of an agent before this one', call('StopContainer', { connection: 1 })],
    ['of another pod', call('StopContainer', { uid: 'uid-of-db' })],
    ['that only reads', call('ContainerStatus')],
  ])('a call %s is none of it', (_, other) => {
    const court = new Court();
    const pod = court.settled();
    court.calls.push(other);
    pod.begin('syncPod');
    expect(court.reported).toEqual([]);
  });
});

describe('I6: of a static full name one incarnation at most is between its start and Terminated', () => {
  /** The judge waits for what is shown in the same turn. */
  async function reported(court: Court): Promise<readonly string[]> {
    await Promise.resolve();
    return court.reported;
  }

  test.each<[string, readonly PodEvent[], string]>([
    ['runs', [], 'Syncing.Settled'],
    ['is ending', [killed()], 'Terminating.Stopping'],
  ])('one starts while another one %s', async (_, events, state) => {
    const court = new Court();
    court.settled(staticPod('uid-1')).send(...events);
    court.settled(staticPod('uid-2'));
    expect(await reported(court)).toEqual([`I6: started while uid-1 of the same name is in ${state}`]);
    expect(court.violations).toMatchObject([{ uid: 'uid-2' }]);
  });

  test('one waits while another one runs, and starts when that is Terminated: none of it', async () => {
    const court = new Court();
    const first = court.settled(staticPod('uid-1'));
    const second = court.pod(staticPod('uid-2'));
    first.send(killed(), STOPPED);
    second.send({ type: 'START_GRANTED' });
    expect(await reported(court)).toEqual([]);
  });

  test('one is seen to have started just before the other is seen to be Terminated: none of it', async () => {
    const court = new Court();
    const first = court.settled(staticPod('uid-1')).send(killed());
    court.settled(staticPod('uid-2'));
    first.send(STOPPED);
    expect(await reported(court)).toEqual([]);
  });

  test('one that waited and is ending has nothing to be waited for; one of which something runs has', async () => {
    const court = new Court();
    court.pod(staticPod('uid-1'), 'ended').send(killed());
    court.settled(staticPod('uid-2'));
    expect(await reported(court)).toEqual([]);
    court.sandboxes.push({ ...sandbox(true), uid: 'uid-3' });
    court.pod(staticPod('uid-3', 'db'), 'running').send(killed());
    court.settled(staticPod('uid-4', 'db'));
    expect(await reported(court)).toEqual([
      'I6: started while uid-3 of the same name is in Terminating.Stopping',
    ]);
  });

  test('pods of an API server may share a name for a while, and static pods of other names run side by side', async () => {
    const court = new Court();
    court.settled(testPod({ uid: 'uid-1' }));
    court.settled(testPod({ uid: 'uid-2' }));
    court.settled(staticPod('uid-3', 'db'));
    court.settled(staticPod('uid-4', 'cache'));
    expect(await reported(court)).toEqual([]);
  });

  test('one that has come back and waits does not hold the name', async () => {
    const court = new Court();
    court.settled(staticPod('uid-1')).send(killed(), STOPPED);
    court.pod(staticPod('uid-1'));
    court.settled(staticPod('uid-2'));
    expect(await reported(court)).toEqual([]);
  });

  test('an actor that is started anew for the same UID has the name already', async () => {
    const court = new Court();
    court.settled(staticPod('uid-1'));
    court.settled(staticPod('uid-1'));
    expect(await reported(court)).toEqual([]);
    court.settled(staticPod('uid-2'));
    expect(await reported(court)).toHaveLength(1);
  });
});

describe('I8: volumes are released after Terminated only', () => {
  test.each<[string, readonly PodEvent[]]>([
    ['Syncing.Settled', []],
    ['Terminating.Stopping', [killed()]],
  ])('released in %s', (state, events) => {
    const court = new Court();
    court.settled().send(...events);
    court.judge.released('uid-of-web');
    expect(court.reported).toEqual([`I8: its volumes are released in ${state}`]);
  });

  test('released before the pod has leave to start, while something of it runs', () => {
    const court = new Court();
    court.pod();
    court.sandboxes.push(sandbox(true));
    court.judge.released('uid-of-web');
    expect(court.reported).toEqual(['I8: its volumes are released in Syncing.AwaitingStart']);
  });

  test('what is left of a former life goes before the pod has leave to start: none of it', () => {
    const court = new Court();
    court.pod();
    court.sandboxes.push(sandbox(false, container('c1', { state: 'CONTAINER_EXITED' })));
    court.judge.released('uid-of-web');
    expect(court.reported).toEqual([]);
  });

  test('nor once it is to end, and has had no leave to start', () => {
    const court = new Court();
    const { snapshot } = new Court().settled().send(killed());
    court.pod().show(snapshot, killed());
    court.judge.released('uid-of-web');
    expect(court.reported).toEqual([]);
  });

  test('released once Terminated, or of a pod that nobody knows any more: none of it', () => {
    const court = new Court();
    court.settled().send(killed(), STOPPED);
    court.judge.released('uid-of-web');
    court.judge.released('uid-of-db');
    expect(court.reported).toEqual([]);
  });
});

describe('I10: of each container one instance at most runs', () => {
  test('two in one sandbox', () => {
    const court = new Court();
    const [one, two] = [container('c1'), container('c2')];
    court.sandboxes.push(sandbox(true, one, two));
    expect(secondInstance(court.truth, two)).toBe(one);
  });

  test('two in two sandboxes', () => {
    const court = new Court();
    const [one, two] = [container('c1'), container('c2')];
    court.sandboxes.push(sandbox(false, one), sandbox(true, two));
    expect(secondInstance(court.truth, two)).toBe(one);
  });

  test('one that has ended, and one of another name, are none', () => {
    const court = new Court();
    const started = container('c3');
    const ended = container('c1', { state: 'CONTAINER_EXITED' });
    const other = container('c2', { metadata: { name: 'second', attempt: 0 } });
    court.sandboxes.push(sandbox(true, ended, other, started));
    expect(secondInstance(court.truth, started)).toBeUndefined();
  });
});
