/** Effects that overlap, go on too long or fail without a reason are reported. All other effects are not. */
import { describe, expect, test } from '@jest/globals';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import { call, killed, LifecycleJudgeBed } from './lifecycle-judge-bed.ts';
import { LEAVE_TO_START } from '../../support/pod-chart.ts';

describe('I5: at most one effect is in flight', () => {
  test('an effect begins beside another one', () => {
    const bed = new LifecycleJudgeBed();
    bed
      .pod()
      .send(...LEAVE_TO_START)
      .begin('syncPod');
    expect(bed.reported).toEqual(['I5: syncPod begins beside syncPod']);
  });

  test('an effect begins while a call of the effect before it is in flight', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    bed.calls.push(call('StopContainer'));
    pod.begin('cleanUpPod');
    expect(bed.reported).toEqual(['I5: cleanUpPod begins while StopContainer is in flight']);
  });

  test('containers of an earlier incarnation may be removed while this one ends, but not while it starts', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    bed.calls.push(call('RemoveContainer'));
    pod.send(killed());
    expect(bed.reported).toEqual([]);
    bed.settled();
    expect(bed.reported).toContain('I5: syncPod begins while RemoveContainer is in flight');
  });

  test.each([
    ['that was abandoned', call('StopContainer', { abandoned: true })],
    ['of an earlier agent', call('StopContainer', { connection: 1 })],
    ['of another pod', call('StopContainer', { uid: 'uid-of-db' })],
    ['that only reads', call('ContainerStatus')],
  ])('a call %s violates nothing', (_, other) => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    bed.calls.push(other);
    pod.begin('syncPod');
    expect(bed.reported).toEqual([]);
  });
});

test('I2: in Draining the effect under way has been aborted', () => {
  const bed = new LifecycleJudgeBed();
  const pod = bed.pod().send(...LEAVE_TO_START);
  const draining = new LifecycleJudgeBed().pod().send(...LEAVE_TO_START, killed()).snapshot;
  pod.show(draining, killed());
  expect(bed.reported).toEqual(['I2: syncPod goes on in Syncing.Draining']);
});

describe('rule 7: a stop fails only if one of its calls fails', () => {
  const FAILED: PodEvent = { type: 'STOP_FAILED' };

  test('a stop fails although no call failed', () => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(killed(), FAILED);
    expect(bed.reported).toEqual(['rule 7: a stop fails, though all that it asked for was done']);
  });

  test('a stop may fail after a failed call, but the next stop may not', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed());
    bed.judge.disturbed('uid-of-web');
    pod.send(FAILED);
    expect(bed.reported).toEqual([]);
    pod.send({ type: 'SyncPodSync' }, FAILED);
    expect(bed.reported).toHaveLength(1);
  });

  test('a stop may fail as long as the agent has not read what an abandoned call has started', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    bed.judge.landedLate('uid-of-web');
    pod.send({ type: 'SyncPodSync' }, killed(), { type: 'AT_REST' }, FAILED);
    expect(bed.reported).toEqual([]);
    bed.judge.callBegan(call('ListPodSandbox'));
    pod.send({ type: 'SyncPodSync' }, FAILED);
    expect(bed.reported).toEqual(['rule 7: a stop fails, though all that it asked for was done']);
  });

  test('a stop may fail while an abandoned call is in flight', () => {
    const bed = new LifecycleJudgeBed();
    bed.calls.push(call('RunPodSandbox', { abandoned: true }));
    bed.settled().send(killed(), FAILED);
    expect(bed.reported).toEqual([]);
  });
});
