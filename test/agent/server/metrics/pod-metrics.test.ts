import { beforeEach, describe, expect, test } from '@jest/globals';
import { PodMetrics } from '../../../../src/agent/server/metrics/pod-metrics.ts';
import { samplesNamed, samplesOf } from './samples.ts';

let nowMs: number;
let lives: PodMetrics;
beforeEach(() => {
  nowMs = 0;
  lives = new PodMetrics(() => nowMs);
});
const named = (name: string) => samplesNamed(lives.metrics(), name);

describe('the start of a pod', () => {
  test('takes from when it was added to when it is Running for the first time', () => {
    lives.added('a', true);
    nowMs = 1500;
    for (const phase of ['Pending', 'Running', 'Pending', 'Running']) lives.inPhase('a', phase);
    expect(named('kubelet_pod_start')).toEqual({
      kubelet_pod_start_duration_seconds_sum: '1.5',
      kubelet_pod_start_duration_seconds_count: '1',
    });
  });

  test('is not measured for a pod that ran before, or that is not known', () => {
    lives.added('a', false);
    lives.inPhase('a', 'Running');
    lives.inPhase('b', 'Running');
    lives.added('c', true);
    lives.forgotten('c');
    lives.inPhase('c', 'Running');
    expect(named('kubelet_pod_start')).toEqual({});
  });
});

describe('the chart of a pod', () => {
  test('is served as transitions, and as time in each state that was left', () => {
    lives.added('a', true);
    lives.inState('a', 'Syncing.Starting.New');
    nowMs = 2;
    for (const state of ['Syncing.Working', 'Syncing.Working', 'Syncing.Settled']) {
      lives.inState('a', state);
      nowMs += 10;
    }
    expect(named('statelet_pod_transitions_total')).toEqual({
      'statelet_pod_transitions_total{from="Syncing.Starting.New",to="Syncing.Working"}': '1',
      'statelet_pod_transitions_total{from="Syncing.Working",to="Syncing.Settled"}': '1',
    });
    expect(named('statelet_pod_state_duration_seconds_sum')).toEqual({
      'statelet_pod_state_duration_seconds_sum{state="Syncing.Starting.New"}': '0.002',
      'statelet_pod_state_duration_seconds_sum{state="Syncing.Working"}': '0.02',
    });
  });

  test('of a pod that is not known is not counted', () => {
    lives.inState('a', 'Syncing.Starting.New');
    lives.inState('a', 'Syncing.Working');
    expect(samplesOf(lives.metrics())).toEqual({});
  });
});

describe('the work on an event', () => {
  test('takes from the first event that waits to the end of the effect', () => {
    lives.added('a', true);
    nowMs = 1000;
    lives.sent('a', 'SyncPodCreate');
    nowMs = 2000;
    lives.sent('a', 'SyncPodUpdate');
    nowMs = 3000;
    const end = lives.effect('a', 'sync');
    nowMs = 7000;
    end();
    expect(named('kubelet_pod_worker')).toEqual({
      'kubelet_pod_worker_duration_seconds_sum{operation_type="create"}': '6',
      'kubelet_pod_worker_duration_seconds_count{operation_type="create"}': '1',
      kubelet_pod_worker_start_duration_seconds_sum: '3',
      kubelet_pod_worker_start_duration_seconds_count: '1',
    });
    expect(named('statelet_pod_event_to_act_seconds_sum')).toEqual({
      'statelet_pod_event_to_act_seconds_sum{event="SyncPodCreate"}': '2',
    });
  });

  test.each([
    ['SyncPodUpdate', 'sync', 'update'],
    ['SyncPodSync', 'sync', 'sync'],
    ['SyncPodKill', 'stop', 'kill'],
    ['SyncPodSync', 'clean_up', 'terminated'],
  ] as const)('%s with the effect %s is the operation %s', (event, effect, operation) => {
    lives.added('a', true);
    lives.sent('a', event);
    lives.effect('a', effect)();
    expect(Object.keys(named('kubelet_pod_worker_duration_seconds_count'))).toEqual([
      `kubelet_pod_worker_duration_seconds_count{operation_type="${operation}"}`,
    ]);
  });

  test('is not measured for an effect without an event, such as a further step of the same sync', () => {
    lives.added('a', true);
    lives.sent('a', 'SyncPodCreate');
    lives.effect('a', 'sync')();
    lives.sent('a', 'ADMITTED');
    lives.effect('a', 'sync')();
    const { 'kubelet_pod_worker_duration_seconds_count{operation_type="create"}': count, ...others } = named(
      'kubelet_pod_worker_duration_seconds_count',
    );
    expect(count).toBe('1');
    expect(others).toEqual({});
    expect(named('statelet_pod_effect_duration_seconds_count')).toEqual({
      'statelet_pod_effect_duration_seconds_count{effect="sync"}': '2',
    });
  });
});

test('effects are in flight from their beginning to their end, also of a pod that is forgotten meanwhile', () => {
  lives.added('a', true);
  const ends = [lives.effect('a', 'sync'), lives.effect('b', 'stop'), lives.effect('c', 'stop')];
  lives.forgotten('a');
  expect(Object.fromEntries(lives.effectsInFlight)).toEqual({ sync: 1, stop: 2, clean_up: 0 });
  for (const end of ends) end();
  expect(Object.fromEntries(lives.effectsInFlight)).toEqual({ sync: 0, stop: 0, clean_up: 0 });
});
