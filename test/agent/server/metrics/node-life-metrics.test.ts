import { beforeEach, expect, test } from '@jest/globals';
import { NodeLifeMetrics } from '../../../../src/agent/server/metrics/node-life-metrics.ts';
import { samplesNamed } from './samples.ts';

let nowMs: number;
let life: NodeLifeMetrics;
beforeEach(() => {
  nowMs = 0;
  life = new NodeLifeMetrics(() => nowMs, { bootMs: 1_000, processMs: 21_000 });
});
const named = (name: string) => samplesNamed(life.metrics(), name);

test('the latency of a status lasts from its change to its arrival at the API server', () => {
  const end = life.statusChanged();
  nowMs = 1500;
  end();
  expect(named('kubelet_pod_status_sync')).toEqual({
    kubelet_pod_status_sync_duration_seconds_sum: '1.5',
    kubelet_pod_status_sync_duration_seconds_count: '1',
  });
});

test('the beginning and end of a shutdown are served; while it goes on, the end is 0', () => {
  expect(named('kubelet_graceful')).toEqual({});
  life.shutdownBegan(5_000);
  expect(named('kubelet_graceful')).toEqual({
    kubelet_graceful_shutdown_start_time_seconds: '5',
    kubelet_graceful_shutdown_end_time_seconds: '0',
  });
  life.shutdownEnded(7_500);
  expect(named('kubelet_graceful_shutdown_end')).toEqual({
    kubelet_graceful_shutdown_end_time_seconds: '7',
  });
});

test('the start of a node is served in its parts, from the first try to register', () => {
  life.registrationBegan(22_000);
  life.registrationBegan(24_000);
  life.registered(25_000);
  life.nodeReady(29_000);
  life.nodeReady(99_000);
  expect(named('kubelet_node_startup')).toEqual({
    kubelet_node_startup_pre_kubelet_duration_seconds: '20',
    kubelet_node_startup_pre_registration_duration_seconds: '1',
    kubelet_node_startup_registration_duration_seconds: '3',
    kubelet_node_startup_post_registration_duration_seconds: '4',
    kubelet_node_startup_duration_seconds: '28',
  });
});

test('a node that was registered before has no start', () => {
  life.registrationBegan(22_000);
  life.nodeReady(29_000);
  expect(named('kubelet_node_startup')).toEqual({});
});
