/** Each violated invariant is reported, and nothing else is: a judge that never reports anything proves nothing. */
import { describe, expect, test } from '@jest/globals';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/agent/policies/pod/pod-kinds.ts';
import { LEAVE_TO_START } from '../../support/pod-chart.ts';
import { testPod } from '../../support/pods.ts';
import {
  AT_REST,
  call,
  CLEANED_UP,
  container,
  JudgedPod,
  killed,
  LifecycleJudgeBed,
  sandbox,
  STOPPED,
  SYNCED,
} from './lifecycle-judge-bed.ts';

test('a pod that lives and ends in order violates nothing', () => {
  const bed = new LifecycleJudgeBed();
  const pod = bed.settled();
  pod.send({ type: 'SyncPodUpdate', pod: testPod() }, SYNCED, { type: 'SyncPodSync' });
  pod.send(killed(30), killed(10), AT_REST, killed(60), killed(5), AT_REST, STOPPED, CLEANED_UP);
  expect(pod.snapshot.value).toEqual({ Terminated: 'Finished' });
  expect(bed.violations).toEqual([]);
});

test('a violation names the node, the pod and its UID', () => {
  const bed = new LifecycleJudgeBed();
  const pod = bed.settled();
  bed.sandboxes.push(sandbox(true));
  pod.send(killed(), STOPPED);
  expect(bed.violations).toEqual([
    {
      invariant: 'I3',
      node: 3,
      name: 'web',
      uid: 'uid-of-web',
      what: 'sandbox s1 is ready as the pod becomes Terminated',
    },
  ]);
});

test('the judge says whether the state has changed, and whether the pod has ended', () => {
  const bed = new LifecycleJudgeBed();
  const pod = bed.settled();
  expect(pod.show(pod.snapshot)).toBe(false);
  const { snapshot } = pod;
  pod.send({ type: 'SyncPodSync' });
  expect(pod.show(snapshot)).toBe(true);
  pod.send(SYNCED, killed());
  expect(bed.judge.hasEnded('uid-of-web')).toBe(false);
  pod.send(STOPPED);
  expect([bed.judge.hasEnded('uid-of-web'), bed.judge.hasEnded('uid-of-db')]).toEqual([true, false]);
});

test('a pod is ending while its actor ends it, unless only the runtime has it', () => {
  const bed = new LifecycleJudgeBed();
  bed.settled().send(killed());
  expect(bed.judge.isEnding('uid-of-web')).toBe(true);
  new JudgedPod(bed.judge, testPod(), 'running').send(killed());
  expect(bed.judge.isEnding('uid-of-web')).toBe(false);
});

describe('I1: a pod moves forward only', () => {
  test('from Terminating back to Syncing', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    const settled = pod.snapshot;
    pod.send(killed());
    expect(bed.reported).toEqual([]);
    pod.show(settled);
    expect(bed.reported).toContain('I1: Terminating.Stopping, then Syncing');
  });

  test('from Terminated back to Terminating', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed());
    const stopping = pod.snapshot;
    pod.send(STOPPED);
    expect(bed.reported).toEqual([]);
    pod.show(stopping);
    expect(bed.reported).toContain('I1: Terminated.CleaningUp, then Terminating');
  });

  test('another incarnation of the UID begins again with Syncing', () => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(killed(), STOPPED, CLEANED_UP);
    bed.settled();
    expect(bed.reported).toEqual([]);
  });
});

describe('I2: nothing that may start a container once the pod is Terminating', () => {
  const STARTS = ['RunPodSandbox', 'CreateContainer', 'StartContainer'] as const;

  test.each(STARTS)('%s in flight as the pod becomes Terminating', (name) => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    bed.calls.push(call(name));
    pod.send(killed());
    expect(bed.reported).toContain(`I2: ${name} is in flight as the pod becomes Terminating`);
  });

  test('StartContainer in flight as the pod becomes Terminated at once', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.pod();
    bed.calls.push(call('StartContainer'));
    pod.send(killed());
    expect(bed.reported).toContain('I2: StartContainer is in flight as the pod becomes Terminated');
  });

  test.each([
    ['that was abandoned', call('StartContainer', { abandoned: true })],
    ['of an earlier agent', call('StartContainer', { connection: 1 })],
    ['of another pod', call('StartContainer', { uid: 'uid-of-db' })],
    ['that only reads', call('ContainerStatus')],
  ])('a call in flight %s violates nothing', (_, other) => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    bed.calls.push(other);
    pod.send(killed());
    expect(bed.reported).toEqual([]);
  });

  test.each<[string, readonly PodEvent[]]>([
    ['Syncing.Draining', [{ type: 'SyncPodSync' }, killed()]],
    ['Terminating.Stopping', [killed()]],
    ['Terminated.CleaningUp', [killed(), STOPPED]],
    ['Terminated.Finished', [killed(), STOPPED, CLEANED_UP]],
  ])('issued in %s', (state, events) => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(...events);
    expect(bed.reported).toEqual([]);
    for (const name of STARTS) bed.judge.callBegan(call(name));
    expect(bed.reported).toEqual(STARTS.map((name) => `I2: ${name} is issued in ${state}`));
  });

  test('issued before the pod may start', () => {
    const bed = new LifecycleJudgeBed();
    bed.pod();
    bed.judge.callBegan(call('RunPodSandbox'));
    expect(bed.reported).toEqual(['I2: RunPodSandbox is issued in Syncing.Starting.AwaitingRuntime']);
  });

  test('issued for a pod without an actor', () => {
    const bed = new LifecycleJudgeBed();
    bed.judge.callBegan(call('RunPodSandbox'));
    expect(bed.reported).toEqual(['I2: RunPodSandbox is issued for a pod that has no actor']);
    expect(bed.violations).toMatchObject([{ uid: 'uid-of-web' }]);
  });

  test('issued during a sync, or by an earlier agent, or not a start: nothing is violated', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.pod().send(...LEAVE_TO_START);
    for (const name of STARTS) bed.judge.callBegan(call(name));
    pod.send(killed(), AT_REST);
    bed.judge.callBegan(call('StartContainer', { connection: 1 }));
    bed.judge.callBegan(call('StopContainer'));
    expect(bed.reported).toEqual([]);
  });
});

describe('I3: Terminated means that nothing runs', () => {
  test.each([
    ['a container that runs', sandbox(false, container('c1')), 'main runs as the pod becomes Terminated'],
    ['a sandbox that is ready', sandbox(true), 'sandbox s1 is ready as the pod becomes Terminated'],
  ])('%s', (_, held, what) => {
    const bed = new LifecycleJudgeBed();
    bed.sandboxes.push(held);
    const pod = bed.settled().send(killed());
    expect(bed.reported).toEqual([]);
    pod.send(STOPPED);
    expect(bed.reported).toEqual([`I3: ${what}`]);
  });

  test('also holds for a pod that becomes Terminated without a stop', () => {
    const bed = new LifecycleJudgeBed();
    bed.sandboxes.push(sandbox(true));
    bed.pod().send(killed());
    expect(bed.reported).toEqual(['I3: sandbox s1 is ready as the pod becomes Terminated']);
  });

  test('the effect under way is not blamed for what an abandoned call starts, but the next effect is', () => {
    const bed = new LifecycleJudgeBed();
    const first = bed.settled().send(killed());
    bed.sandboxes.push(sandbox(true));
    bed.judge.landedLate(first.snapshot.context.uid);
    first.send(STOPPED);
    expect(bed.reported).toEqual([]);

    const other = new LifecycleJudgeBed();
    other.sandboxes.push(sandbox(true));
    const pod = other.settled();
    other.judge.landedLate(pod.snapshot.context.uid);
    pod.send(killed(), STOPPED);
    expect(other.reported).toEqual(['I3: sandbox s1 is ready as the pod becomes Terminated']);
  });

  test('ended containers may be left', () => {
    const bed = new LifecycleJudgeBed();
    bed.sandboxes.push(sandbox(false, container('c1', { state: 'CONTAINER_EXITED' })));
    bed.settled().send(killed(), STOPPED);
    expect(bed.reported).toEqual([]);
  });
});

describe('I8: volumes are released after Terminated only', () => {
  test.each<[string, readonly PodEvent[]]>([
    ['Syncing.Settled', []],
    ['Terminating.Stopping', [killed()]],
  ])('released in %s', (state, events) => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(...events);
    bed.judge.volumesReleased('uid-of-web');
    expect(bed.reported).toEqual([`I8: its volumes are released in ${state}`]);
  });

  test('released before the pod may start, while something of it runs', () => {
    const bed = new LifecycleJudgeBed();
    bed.pod();
    bed.sandboxes.push(sandbox(true));
    bed.judge.volumesReleased('uid-of-web');
    expect(bed.reported).toEqual(['I8: its volumes are released in Syncing.Starting.AwaitingRuntime']);
  });

  test('volumes of an earlier incarnation may be released before the pod starts', () => {
    const bed = new LifecycleJudgeBed();
    bed.pod();
    bed.sandboxes.push(sandbox(false, container('c1', { state: 'CONTAINER_EXITED' })));
    bed.judge.volumesReleased('uid-of-web');
    expect(bed.reported).toEqual([]);
  });

  test('volumes of a pod that ends without a start may be released', () => {
    const bed = new LifecycleJudgeBed();
    const { snapshot } = new LifecycleJudgeBed().settled().send(killed());
    bed.pod().show(snapshot, killed());
    bed.judge.volumesReleased('uid-of-web');
    expect(bed.reported).toEqual([]);
  });

  test('volumes of a Terminated pod, or of a pod without an actor, may be released', () => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(killed(), STOPPED);
    bed.judge.volumesReleased('uid-of-web');
    bed.judge.volumesReleased('uid-of-db');
    expect(bed.reported).toEqual([]);
  });
});

const staticPod = (uid: string, name = 'web') =>
  testPod({ name, uid, annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } });

describe('I6: of a static full name one incarnation at most is between its start and Terminated', () => {
  /** The judge checks in a microtask. */
  async function reported(bed: LifecycleJudgeBed): Promise<readonly string[]> {
    await Promise.resolve();
    return bed.reported;
  }

  test.each<[string, readonly PodEvent[], string]>([
    ['runs', [], 'Syncing.Settled'],
    ['is ending', [killed()], 'Terminating.Stopping'],
  ])('a pod starts while another one %s', async (_, events, state) => {
    const bed = new LifecycleJudgeBed();
    bed.settled(staticPod('uid-1')).send(...events);
    bed.settled(staticPod('uid-2'));
    expect(await reported(bed)).toEqual([`I6: started while uid-1 of the same name is in ${state}`]);
    expect(bed.violations).toMatchObject([{ uid: 'uid-2' }]);
  });

  test('a pod may wait while another one runs, and start when that is Terminated', async () => {
    const bed = new LifecycleJudgeBed();
    const first = bed.settled(staticPod('uid-1'));
    const second = bed.pod(staticPod('uid-2'));
    first.send(killed(), STOPPED);
    second.send(...LEAVE_TO_START);
    expect(await reported(bed)).toEqual([]);
  });

  test('a pod may show its start just before the other one shows that it is Terminated', async () => {
    const bed = new LifecycleJudgeBed();
    const first = bed.settled(staticPod('uid-1')).send(killed());
    bed.settled(staticPod('uid-2'));
    first.send(STOPPED);
    expect(await reported(bed)).toEqual([]);
  });

  test('a pod that ends without a start does not hold the name, unless something of it runs', async () => {
    const bed = new LifecycleJudgeBed();
    bed.pod(staticPod('uid-1'), 'ended').send(killed());
    bed.settled(staticPod('uid-2'));
    expect(await reported(bed)).toEqual([]);
    bed.sandboxes.push({ ...sandbox(true), uid: 'uid-3' });
    bed.pod(staticPod('uid-3', 'db'), 'running').send(killed());
    bed.settled(staticPod('uid-4', 'db'));
    expect(await reported(bed)).toEqual([
      'I6: started while uid-3 of the same name is in Terminating.Stopping',
    ]);
  });

  test('pods of an API server may share a name, and static pods of different names run side by side', async () => {
    const bed = new LifecycleJudgeBed();
    bed.settled(testPod({ uid: 'uid-1' }));
    bed.settled(testPod({ uid: 'uid-2' }));
    bed.settled(staticPod('uid-3', 'db'));
    bed.settled(staticPod('uid-4', 'cache'));
    expect(await reported(bed)).toEqual([]);
  });

  test('a pod that was asked for again and waits does not hold the name', async () => {
    const bed = new LifecycleJudgeBed();
    bed.settled(staticPod('uid-1')).send(killed(), STOPPED);
    bed.pod(staticPod('uid-1'));
    bed.settled(staticPod('uid-2'));
    expect(await reported(bed)).toEqual([]);
  });

  test('a new actor of the same UID takes over the name', async () => {
    const bed = new LifecycleJudgeBed();
    bed.settled(staticPod('uid-1'));
    bed.settled(staticPod('uid-1'));
    expect(await reported(bed)).toEqual([]);
    bed.settled(staticPod('uid-2'));
    expect(await reported(bed)).toHaveLength(1);
  });
});
