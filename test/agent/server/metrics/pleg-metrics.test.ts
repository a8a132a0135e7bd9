import { beforeEach, expect, test } from '@jest/globals';
import { PlegMetrics } from '../../../../src/agent/server/metrics/pleg-metrics.ts';
import { samplesNamed } from './samples.ts';

let nowMs: number;
let metrics: PlegMetrics;
beforeEach(() => {
  nowMs = 0;
  metrics = new PlegMetrics(() => nowMs);
});
const named = (name: string) => samplesNamed(metrics.metrics(), name);

test('the read of one pod is timed', () => {
  const end = metrics.podRelist();
  nowMs = 20;
  end();
  expect(named('kubelet_pleg_pod')).toEqual({
    kubelet_pleg_pod_relist_duration_seconds_sum: '0.02',
    kubelet_pleg_pod_relist_duration_seconds_count: '1',
  });
});

test('streams of events are counted with their failures, and how late events come', () => {
  metrics.eventsAsked();
  metrics.eventsAsked();
  metrics.eventsFailed();
  metrics.eventHeard(7);
  expect(named('kubelet_evented')).toEqual({
    kubelet_evented_pleg_connection_success_count: '2',
    kubelet_evented_pleg_connection_error_count: '1',
    kubelet_evented_pleg_connection_latency_seconds_sum: '0.007',
    kubelet_evented_pleg_connection_latency_seconds_count: '1',
  });
});
