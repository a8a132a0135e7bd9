import { expect, test } from '@jest/globals';
import { PlacementMetrics } from '../../../../src/agent/server/metrics/placement-metrics.ts';
import { samplesNamed, samplesOf } from './samples.ts';

const ALIGNED = 'kubelet_container_aligned_compute_resources';

test('before anything has happened counters are 0, and there are no figures of CPUs', () => {
  const samples = samplesOf(new PlacementMetrics(() => 0).metrics());
  expect(new Set(Object.values(samples))).toEqual(new Set(['0']));
  expect(Object.keys(samples)).toEqual(
    expect.arrayContaining([
      'kubelet_cpu_manager_pinning_errors_total',
      `${ALIGNED}_count{boundary="numa_node",scope="pod"}`,
      `${ALIGNED}_failure_count{boundary="physical_cpu",scope="container"}`,
    ]),
  );
  expect(samples).not.toHaveProperty('kubelet_cpu_manager_shared_pool_size_millicores');
});

test('admissions are counted and timed in milliseconds, and their failures', () => {
  let nowMs = 0;
  const metrics = new PlacementMetrics(() => nowMs);
  const [first, second] = [metrics.admission(), metrics.admission()];
  nowMs = 3;
  first('success');
  second('failure');
  const all = metrics.metrics();
  expect(samplesNamed(all, 'kubelet_topology_manager')).toEqual({
    kubelet_topology_manager_admission_requests_total: '2',
    kubelet_topology_manager_admission_errors_total: '1',
    kubelet_topology_manager_admission_duration_ms_sum: '6',
    kubelet_topology_manager_admission_duration_ms_count: '2',
  });
  const text = all.flatMap(({ samples }) => samples).join('');
  expect(text).toContain('kubelet_topology_manager_admission_duration_ms_bucket{le="1.6"} 0\n');
  expect(text).toContain('kubelet_topology_manager_admission_duration_ms_bucket{le="3.2"} 2\n');
});

test('resources that are kept for containers are counted by resource, by location, and by NUMA node', () => {
  const metrics = new PlacementMetrics(() => 0);
  metrics.pinned('cpu', true);
  metrics.pinned('cpu', false);
  metrics.pinned('memory', true);
  metrics.aligned('container', 'uncore_cache', true);
  metrics.aligned('pod', 'numa_node', false);
  metrics.cpus({
    free: 5,
    exclusive: new Map([
      [0, 3],
      [1, 0],
    ]),
  });
  const all = metrics.metrics();
  expect(samplesNamed(all, 'kubelet_cpu_manager')).toEqual({
    kubelet_cpu_manager_pinning_requests_total: '2',
    kubelet_cpu_manager_pinning_errors_total: '1',
    kubelet_cpu_manager_shared_pool_size_millicores: '5000',
    kubelet_cpu_manager_exclusive_cpu_allocation_count: '3',
    'kubelet_cpu_manager_allocation_per_numa{numa_node="0"}': '3',
    'kubelet_cpu_manager_allocation_per_numa{numa_node="1"}': '0',
  });
  expect(samplesNamed(all, 'kubelet_memory_manager')).toEqual({
    kubelet_memory_manager_pinning_requests_total: '1',
    kubelet_memory_manager_pinning_errors_total: '0',
  });
  expect(samplesOf(all)).toMatchObject({
    [`${ALIGNED}_count{boundary="uncore_cache",scope="container"}`]: '1',
    [`${ALIGNED}_failure_count{boundary="numa_node",scope="pod"}`]: '1',
  });
});
