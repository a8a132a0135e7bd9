import { expect, test } from '@jest/globals';
import { workerMetrics, type WorkerMetricsApi } from '../../../src/server/metrics/worker-metrics.ts';
import { testPod } from '../../support/pods.ts';
import { NO_WORKERS, samplesNamed } from './samples.ts';

const read = (api: Partial<WorkerMetricsApi>, name: string) =>
  samplesNamed(workerMetrics({ ...NO_WORKERS, ...api }), name);

test('the actors of pods are counted by the part of their life and by who knows them; kinds without any are 0', () => {
  const workers = () =>
    [
      { lifecycle: 'sync', config: 'desired', isStatic: true },
      { lifecycle: 'sync', config: 'desired', isStatic: true },
      { lifecycle: 'terminating', config: 'orphan', isStatic: false },
      { lifecycle: 'terminated', config: 'runtime_only', isStatic: false },
    ] as const;
  const samples = Object.entries(read({ workers }, 'kubelet_working_pods'));
  expect(samples).toHaveLength(15);
  expect(Object.fromEntries(samples.filter(([, count]) => count !== '0'))).toEqual({
    'kubelet_working_pods{config="desired",lifecycle="sync",static="true"}': '2',
    'kubelet_working_pods{config="orphan",lifecycle="terminating",static=""}': '1',
    'kubelet_working_pods{config="runtime_only",lifecycle="terminated",static="unknown"}': '1',
  });
});

test('mirror pods and ephemeral containers are counted', () => {
  const ephemeralContainers = [{ name: 'debug' }, { name: 'shell' }];
  const plain = testPod();
  const desiredPods = () => [plain, { ...plain, spec: { ...plain.spec, ephemeralContainers } }];
  expect(read({ mirrorPodCount: () => 3 }, 'kubelet_mirror')).toEqual({ kubelet_mirror_pods: '3' });
  expect(read({ desiredPods }, 'kubelet_managed')).toEqual({ kubelet_managed_ephemeral_containers: '2' });
});

test('the last relist is told in whole seconds, and the version of cgroups, where there are any', () => {
  expect({ ...read({}, 'kubelet_pleg'), ...read({}, 'kubelet_cgroup') }).toEqual({});
  const known: Partial<WorkerMetricsApi> = { lastRelistMs: () => 1_700_000_000_900, cgroupVersion: () => 2 };
  expect({ ...read(known, 'kubelet_pleg'), ...read(known, 'kubelet_cgroup') }).toEqual({
    kubelet_pleg_last_seen_seconds: '1.7e+09',
    kubelet_cgroup_version: '2',
  });
});
