/** What a pod was told about its end and its newest version must be in force: in its chart, its effects and the runtime. */
import { describe, expect, test } from '@jest/globals';
import type { PodSnapshot } from '../../../src/agent/actors/pods/pod-registry.ts';
import { testPod } from '../../support/pods.ts';
import {
  AT_REST,
  call,
  CLEANED_UP,
  LifecycleJudgeBed,
  killed,
  STOPPED,
  SYNCED,
} from './lifecycle-judge-bed.ts';
import { LEAVE_TO_START } from '../../support/pod-chart.ts';

/** A snapshot as a wrong chart would show it. */
function changed(snapshot: PodSnapshot, context: Partial<PodSnapshot['context']>): PodSnapshot {
  return Object.assign(Object.create(snapshot) as PodSnapshot, {
    context: { ...snapshot.context, ...context },
  });
}

describe('I4: the grace period never grows', () => {
  test('from 5 s to 30 s', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed(5));
    expect(bed.reported).toEqual([]);
    pod.show(changed(pod.snapshot, { gracePeriodSeconds: 30 }));
    expect(bed.reported).toContain('I4: the grace period grows from 5 s to 30 s');
  });

  test('from 5 s to none at all', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed(5));
    pod.show(changed(pod.snapshot, { gracePeriodSeconds: undefined }));
    expect(bed.reported).toContain('I4: the grace period grows from 5 s to Infinity s');
  });

  test('it may go from 30 s to 5 s, and another incarnation may get 30 s again', () => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(killed(30), killed(5), AT_REST, STOPPED, CLEANED_UP);
    bed.settled().send(killed(30));
    expect(bed.reported).toEqual([]);
  });
});

describe('I4: the shortest grace period that was asked for is in force', () => {
  test('it is not in the chart', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed(30));
    pod.show(pod.snapshot, killed(5));
    expect(bed.reported).toContain('I4: the grace period is 30 s, though 5 s were asked for');
  });

  test('it is not in the stop under way', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed(30));
    pod.show(changed(pod.snapshot, { gracePeriodSeconds: 5 }), killed(5));
    expect(bed.reported).toEqual(['I4: a stop with 30 s is under way, though 5 s were asked for']);
  });

  test('it is not in a stop that begins', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed(5), killed(2));
    expect(bed.reported).toEqual([]);
    pod.begin('stopPod', { gracePeriodSeconds: 30 });
    expect(bed.reported).toContain('I4: a stop with 30 s is under way, though 2 s were asked for');
  });

  test('it is not in the call to the runtime', () => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(killed(5));
    bed.judge.callBegan(call('StopContainer', { graceSeconds: 5 }));
    expect(bed.reported).toEqual([]);
    bed.judge.callBegan(call('StopContainer', { graceSeconds: 6 }));
    expect(bed.reported).toEqual(['I4: StopContainer grants 6 s where 5 s are in force']);
  });

  test('the shortest stop that a runtime is asked for, and calls of an earlier agent, violate nothing', () => {
    const bed = new LifecycleJudgeBed();
    bed.settled().send(killed(1));
    bed.judge.callBegan(call('StopContainer', { graceSeconds: 2 }));
    bed.judge.callBegan(call('StopContainer', { graceSeconds: 30, connection: 1 }));
    expect(bed.reported).toEqual([]);
  });

  test('a deletion counts as well, and a kill with a grace period of 0 s counts as 1 s', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled();
    pod.send({ type: 'SyncPodUpdate', pod: testPod({ deleted: true, deletionGracePeriodSeconds: 7 }) });
    expect(bed.judge.ordersOf('uid-of-web')).toMatchObject({ graceSeconds: 7 });
    pod.send(killed(0));
    expect(bed.judge.ordersOf('uid-of-web')).toMatchObject({ graceSeconds: 1 });
    expect(bed.reported).toEqual([]);
  });
});

test('rule 4: the grace period is 1 s at least', () => {
  const bed = new LifecycleJudgeBed();
  const pod = bed.settled().send(killed(1));
  expect(bed.reported).toEqual([]);
  pod.show(changed(pod.snapshot, { gracePeriodSeconds: 0 }));
  expect(bed.reported).toEqual(['rule 4: the grace period is below 1 s']);
});

describe('rule 2', () => {
  test('the chart keeps that a pod was evicted', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.settled().send(killed(5, { evict: true }), killed(5));
    expect(bed.reported).toEqual([]);
    pod.show(changed(pod.snapshot, { evicted: false }));
    expect(bed.reported).toEqual(['rule 2: it is forgotten that the pod was evicted']);
  });

  test('a pod does not settle before its newest version has been synced', () => {
    const bed = new LifecycleJudgeBed();
    const pod = bed.pod().send(...LEAVE_TO_START, { type: 'SyncPodUpdate', pod: testPod() }, SYNCED, SYNCED);
    expect([pod.snapshot.value, bed.reported]).toEqual([{ Syncing: 'Settled' }, []]);
    pod.show(changed(pod.snapshot, { pod: testPod() }), { type: 'SyncPodUpdate', pod: testPod() });
    expect(bed.reported).toEqual(['rule 2: settles, and its newest version is not synced']);
  });

  test('creating a pod that is ending asks for its next incarnation, and does not change this end', () => {
    const bed = new LifecycleJudgeBed();
    const deleted = testPod({ deletionGracePeriodSeconds: 2 });
    bed.settled().send(killed(30), { type: 'SyncPodCreate', pod: deleted });
    expect(bed.judge.ordersOf('uid-of-web')).toMatchObject({ graceSeconds: 30 });
    expect(bed.reported).toEqual([]);
  });
});

test('rule 5: the status of the last kill that gave one counts', () => {
  const bed = new LifecycleJudgeBed();
  const pod = bed.settled();
  pod.send(
    killed(5, { podStatus: { reason: 'Preempting' } }),
    killed(5, { podStatus: { reason: 'Evicted' } }),
    killed(5),
  );
  expect(bed.judge.ordersOf('uid-of-web')).toMatchObject({ status: { reason: 'Evicted' } });
  expect(bed.judge.ordersOf('uid-of-db')).toBeUndefined();
});
