/** Two static pods of one name that run at the same time are reported. */
import { describe, expect, test } from '@jest/globals';
import type { PodEvent } from '../../../src/machines/pod-machine.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/policies/pod/pod-kinds.ts';
import { testPod } from '../../support/pods.ts';
import { killed, LifecycleJudgeBed, sandbox, STOPPED } from './lifecycle-judge-bed.ts';
import { LEAVE_TO_START } from '../../support/pod-chart.ts';

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
