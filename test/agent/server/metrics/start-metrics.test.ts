import { beforeEach, expect, test } from '@jest/globals';
import { StartMetrics } from '../../../../src/agent/server/metrics/start-metrics.ts';
import { samplesNamed } from './samples.ts';

let nowMs: number;
let starts: StartMetrics;
beforeEach(() => {
  nowMs = 0;
  starts = new StartMetrics(() => nowMs);
});
const figures = () => {
  const all = {
    ...samplesNamed(starts.metrics(), 'kubelet_pod_start'),
    ...samplesNamed(starts.metrics(), 'kubelet_first'),
  };
  return {
    sli: all.kubelet_pod_start_sli_duration_seconds_sum,
    total: all.kubelet_pod_start_total_duration_seconds_sum,
    count: all.kubelet_pod_start_total_duration_seconds_count,
    first: all.kubelet_first_network_pod_start_sli_duration_seconds,
  };
};
const started = (uid: string, sinceCreationMs: number, more = {}) =>
  starts.started(uid, { sinceCreationMs, isStateful: false, hostNetwork: false, ...more });

test('a start takes from the creation of the pod; pulls and init containers count only in the total', () => {
  starts.awaited('a');
  const ends = [starts.podPull('a'), starts.podPull('a')];
  nowMs = 2_000;
  ends[0]?.();
  nowMs = 3_000;
  ends[1]?.();
  starts.initContainerRan('a', 4_000);
  started('a', 10_000);
  expect(figures()).toEqual({ sli: '3', total: '10', count: '1', first: '3' });
});

test('a pod starts once, and only the first one with a network of its own is shown as such', () => {
  for (const uid of ['host', 'a', 'b']) starts.awaited(uid);
  started('host', 1_000, { hostNetwork: true });
  started('a', 2_000);
  started('a', 90_000);
  started('b', 3_000);
  expect(figures()).toEqual({ sli: '6', total: '6', count: '3', first: '2' });
});

test('a pod with volumes that outlive it counts only in the total', () => {
  starts.awaited('a');
  started('a', 5_000, { isStateful: true });
  expect(figures()).toEqual({ sli: undefined, total: '5', count: '1', first: undefined });
});

test('a pod that had been started before, or is forgotten, is not measured', () => {
  starts.podPull('a')();
  started('a', 1_000);
  starts.awaited('b');
  starts.forgotten('b');
  started('b', 1_000);
  expect(figures().count).toBeUndefined();
});

test('a clock of the API server that goes ahead makes no start negative', () => {
  starts.awaited('a');
  started('a', -5_000);
  expect(figures()).toMatchObject({ sli: '0', total: '0' });
});
