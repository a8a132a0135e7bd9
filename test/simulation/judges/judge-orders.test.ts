/** What a pod was told about its end, and about what it is to be, must be in force: in its chart, its effects, the runtime. */
import { describe, expect, test } from '@jest/globals';
import type { PodSnapshot } from '../../../src/actors/pods/pod-registry.ts';
import type { PodEvent } from '../../../src/machines/pod-machine.ts';
import { testPod } from '../../support/pods.ts';
import { AT_REST, call, CLEANED_UP, Court, killed, STOPPED, SYNCED } from './court.ts';

/** A snapshot such as a chart would show that is not in order. */
function changed(snapshot: PodSnapshot, context: Partial<PodSnapshot['context']>): PodSnapshot {
  return Object.assign(Object.create(snapshot) as PodSnapshot, {
    context: { ...snapshot.context, ...context },
  });
}

describe('I4: the grace period never grows', () => {
  test('from 5 s to 30 s', () => {
    const court = new Court();
    const pod = court.settled().send(killed(5));
    expect(court.reported).toEqual([]);
    pod.show(changed(pod.snapshot, { gracePeriodSeconds: 30 }));
    expect(court.reported).toContain('I4: the grace period grows from 5 s to 30 s');
  });

  test('from 5 s to none at all', () => {
    const court = new Court();
    const pod = court.settled().send(killed(5));
    pod.show(changed(pod.snapshot, { gracePeriodSeconds: undefined }));
    expect(court.reported).toContain('I4: the grace period grows from 5 s to Infinity s');
  });

  test('from 30 s to 5 s is none of it, nor what another incarnation is granted', () => {
    const court = new Court();
    court.settled().send(killed(30), killed(5), AT_REST, STOPPED, CLEANED_UP);
    court.settled().send(killed(30));
    expect(court.reported).toEqual([]);
  });
});

describe('I4: the shortest grace period that was asked for is in force', () => {
  test('not in the chart', () => {
    const court = new Court();
    const pod = court.settled().send(killed(30));
    pod.show(pod.snapshot, killed(5));
    expect(court.reported).toContain('I4: the grace period is 30 s, though 5 s were asked for');
  });

  test('not in the stop that is under way', () => {
    const court = new Court();
    const pod = court.settled().send(killed(30));
    pod.show(changed(pod.snapshot, { gracePeriodSeconds: 5 }), killed(5));
    expect(court.reported).toEqual(['I4: a stop with 30 s is under way, though 5 s were asked for']);
  });

  test('not in a stop that begins', () => {
    const court = new Court();
    const pod = court.settled().send(killed(5), killed(2));
    expect(court.reported).toEqual([]);
    pod.begin('stopPod', { gracePeriodSeconds: 30 });
    expect(court.reported).toContain('I4: a stop with 30 s is under way, though 2 s were asked for');
  });

  test('not at the runtime', () => {
    const court = new Court();
    court.settled().send(killed(5));
    court.judge.callBegan(call('StopContainer', { graceSeconds: 5 }));
    expect(court.reported).toEqual([]);
    court.judge.callBegan(call('StopContainer', { graceSeconds: 6 }));
    expect(court.reported).toEqual(['I4: StopContainer grants 6 s where 5 s are in force']);
  });

  test('the least that a runtime is asked for, and what an agent before this one has asked for, are none of it', () => {
    const court = new Court();
    court.settled().send(killed(1));
    court.judge.callBegan(call('StopContainer', { graceSeconds: 2 }));
    court.judge.callBegan(call('StopContainer', { graceSeconds: 30, connection: 1 }));
    expect(court.reported).toEqual([]);
  });

  test('a deletion asks as well, and a kill that grants nothing asks for 1 s', () => {
    const court = new Court();
    const pod = court.settled();
    pod.send({ type: 'SyncPodUpdate', pod: testPod({ deleted: true, deletionGracePeriodSeconds: 7 }) });
    expect(court.judge.ordersOf('uid-of-web')).toMatchObject({ graceSeconds: 7 });
    pod.send(killed(0));
    expect(court.judge.ordersOf('uid-of-web')).toMatchObject({ graceSeconds: 1 });
    expect(court.reported).toEqual([]);
  });
});

test('rule 4: the grace period is 1 s at least', () => {
  const court = new Court();
  const pod = court.settled().send(killed(1));
  expect(court.reported).toEqual([]);
  pod.show(changed(pod.snapshot, { gracePeriodSeconds: 0 }));
  expect(court.reported).toEqual(['rule 4: the grace period is below 1 s']);
});

describe('rule 2', () => {
  test('that a pod was evicted is not forgotten', () => {
    const court = new Court();
    const pod = court.settled().send(killed(5, { evict: true }), killed(5));
    expect(court.reported).toEqual([]);
    pod.show(changed(pod.snapshot, { evicted: false }));
    expect(court.reported).toEqual(['rule 2: it is forgotten that the pod was evicted']);
  });

  test('a pod does not settle before its newest version has been synced', () => {
    const court = new Court();
    const pod = court
      .pod()
      .send({ type: 'START_GRANTED' }, { type: 'SyncPodUpdate', pod: testPod() }, SYNCED, SYNCED);
    expect([pod.snapshot.value, court.reported]).toEqual([{ Syncing: 'Settled' }, []]);
    pod.show(changed(pod.snapshot, { pod: testPod() }), { type: 'SyncPodUpdate', pod: testPod() });
    expect(court.reported).toEqual(['rule 2: settles, and its newest version is not synced']);
  });

  test('who asks for a pod that is ending asks for its next life, and changes nothing of this one’s end', () => {
    const court = new Court();
    const deleted = testPod({ deletionGracePeriodSeconds: 2 });
    court.settled().send(killed(30), { type: 'SyncPodCreate', pod: deleted });
    expect(court.judge.ordersOf('uid-of-web')).toMatchObject({ graceSeconds: 30 });
    expect(court.reported).toEqual([]);
  });
});

test('rule 5: the last status that a kill gave is what was asked for', () => {
  const court = new Court();
  const pod = court.settled();
  pod.send(
    killed(5, { podStatus: { reason: 'Preempting' } }),
    killed(5, { podStatus: { reason: 'Evicted' } }),
    killed(5),
  );
  expect(court.judge.ordersOf('uid-of-web')).toMatchObject({ status: { reason: 'Evicted' } });
  expect(court.judge.ordersOf('uid-of-db')).toBeUndefined();
});

test('I2: an effect that goes on in Draining, though it was not told to come to rest', () => {
  const court = new Court();
  const pod = court.pod().send({ type: 'START_GRANTED' });
  const draining = new Court().pod().send({ type: 'START_GRANTED' }, killed()).snapshot;
  pod.show(draining, killed());
  expect(court.reported).toEqual(['I2: syncPod goes on in Syncing.Draining']);
});

describe('rule 7: a stop fails only where something has not gone as it should', () => {
  const FAILED: PodEvent = { type: 'STOP_FAILED' };

  test('though all that it asked for was done', () => {
    const court = new Court();
    court.settled().send(killed(), FAILED);
    expect(court.reported).toEqual(['rule 7: a stop fails, though all that it asked for was done']);
  });

  test('after a call that failed: none of it, but the next one has no excuse', () => {
    const court = new Court();
    const pod = court.settled().send(killed());
    court.judge.disturbed('uid-of-web');
    pod.send(FAILED);
    expect(court.reported).toEqual([]);
    pod.send({ type: 'SyncPodSync' }, FAILED);
    expect(court.reported).toHaveLength(1);
  });

  test('while a call is in flight that was given up: none of it', () => {
    const court = new Court();
    court.calls.push(call('RunPodSandbox', { abandoned: true }));
    court.settled().send(killed(), FAILED);
    expect(court.reported).toEqual([]);
  });
});
