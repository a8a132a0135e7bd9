import { expect, test } from '@jest/globals';
import { DRA_BOUNDS, DraMetrics } from '../../../../src/agent/server/metrics/dra-metrics.ts';
import { samplesNamed } from './samples.ts';

test('calls to drivers are timed, by operation and by call, and claims in use are counted by driver', () => {
  let nowMs = 0;
  const metrics = new DraMetrics(() => nowMs);
  const named = (name: string) => samplesNamed(metrics.metrics(), name);
  const [end, answered] = [metrics.operation('PrepareResources'), metrics.called('gpu.test', '/v1/Prepare')];
  nowMs = 2_000;
  answered('Unavailable');
  end('failure');
  metrics.operation('UnprepareResources')('success');
  metrics.claimsInUse(3, new Map([['gpu.test', 2]]));
  expect(named('dra_operations_duration_seconds')).toEqual({
    'dra_operations_duration_seconds_sum{is_error="true",operation_name="PrepareResources"}': '2',
    'dra_operations_duration_seconds_count{is_error="true",operation_name="PrepareResources"}': '1',
    'dra_operations_duration_seconds_sum{is_error="false",operation_name="UnprepareResources"}': '0',
    'dra_operations_duration_seconds_count{is_error="false",operation_name="UnprepareResources"}': '1',
  });
  const labels = 'driver_name="gpu.test",grpc_status_code="Unavailable",method_name="/v1/Prepare"';
  expect(named('dra_grpc')).toEqual({
    [`dra_grpc_operations_duration_seconds_sum{${labels}}`]: '2',
    [`dra_grpc_operations_duration_seconds_count{${labels}}`]: '1',
  });
  expect(named('dra_resource_claims')).toEqual({
    'dra_resource_claims_in_use{driver_name="<any>"}': '3',
    'dra_resource_claims_in_use{driver_name="gpu.test"}': '2',
  });
  expect([DRA_BOUNDS.length, DRA_BOUNDS[0], DRA_BOUNDS.at(-1)]).toEqual([15, 0.1, 40]);
});
