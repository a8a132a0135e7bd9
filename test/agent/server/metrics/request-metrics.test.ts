import { beforeEach, expect, test } from '@jest/globals';
import { RequestMetrics } from '../../../../src/agent/server/metrics/request-metrics.ts';
import { samplesNamed } from './samples.ts';

let nowMs: number;
let requests: RequestMetrics;
beforeEach(() => {
  nowMs = 0;
  requests = new RequestMetrics(() => nowMs);
});
const named = (name: string) => samplesNamed(requests.metrics(), name);
const ask = (path: string | undefined, method = 'GET', isReadOnly = false) =>
  requests.nodeRequest({ method, path, isReadOnly });

test('a request is in flight until its answer has ended, and its duration is measured until then', () => {
  const end = ask('/pods');
  ask('/pods', 'GET', true)();
  const everyone = '{long_running="false",method="GET",path="pods",server_type="readonly"}';
  const node = '{long_running="false",method="GET",path="pods",server_type="readwrite"}';
  expect(named('kubelet_http_inflight')).toEqual({
    [`kubelet_http_inflight_requests${everyone}`]: '0',
    [`kubelet_http_inflight_requests${node}`]: '1',
  });
  nowMs = 2500;
  end();
  expect({ ...named('kubelet_http_inflight'), ...named('kubelet_http_requests') }).toMatchObject({
    [`kubelet_http_inflight_requests${node}`]: '0',
    [`kubelet_http_requests_total${node}`]: '1',
    [`kubelet_http_requests_duration_seconds_sum${node}`]: '2.5',
  });
});

test.each([
  ['/exec/ns/pod/main', 'exec', 'true'],
  ['/metrics', 'metrics', 'false'],
  ['/metrics/cadvisor', 'metrics/cadvisor', 'false'],
  ['/stats/summary', 'stats', 'false'],
  ['/metrics/secret', 'other', 'false'],
  ['/', 'other', 'false'],
  ['/../exec', 'other', 'false'],
])('%s has the path %s, and whether it is long running: %s', (path, label, isLong) => {
  ask(path)();
  expect(Object.keys(named('kubelet_http_requests_total'))).toEqual([
    `kubelet_http_requests_total{long_running="${isLong}",method="GET",path="${label}",server_type="readwrite"}`,
  ]);
});

test('paths and methods that clients make up have no series of their own', () => {
  for (let index = 0; index < 1000; index += 1) ask(`/path-${index}`, `METHOD${index}`)();
  ask(undefined, 'PATCH')();
  expect(named('kubelet_http_requests_total')).toEqual({
    'kubelet_http_requests_total{long_running="false",method="other",path="other",server_type="readwrite"}':
      '1001',
  });
});

test('streams by WebSocket are counted by their purpose', () => {
  for (const path of ['/exec/ns/pod/main', '/portForward/ns/pod', '/pods']) requests.webSocketAdmitted(path);
  expect(named('kubelet_websocket')).toEqual({
    'kubelet_websocket_streaming_requests_total{subresource="exec"}': '1',
    'kubelet_websocket_streaming_requests_total{subresource="portforward"}': '1',
  });
});
