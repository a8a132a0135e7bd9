/** The kubelet's gauges of its pod workers: here, of the actors of pods. */
import type { PodWorker } from '../../types/served-pod.ts';
import type { NodeApi } from '../routes/node-api.ts';
import { type Labels, type Metric, metric } from './metric-text.ts';

export type WorkerMetricsApi = Pick<
  NodeApi,
  'workers' | 'desiredPods' | 'mirrorPodCount' | 'lastRelistMs' | 'cgroupVersion'
>;

const LIFECYCLES = ['sync', 'terminating', 'terminated'] as const;
const CONFIGS = [
  ['desired', ''],
  ['desired', 'true'],
  ['orphan', ''],
  ['orphan', 'true'],
  ['runtime_only', 'unknown'],
] as const;
const MS_PER_S = 1000;

export function workerMetrics(api: WorkerMetricsApi): readonly Metric[] {
  const ephemeral = [...api.desiredPods()].map(({ spec }) => spec.ephemeralContainers?.length ?? 0);
  return [
    gauge(
      'kubelet_working_pods',
      'Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from local configuration or force deleted in the API and consumes resources that are not otherwise visible.',
      workingPods([...api.workers()]),
    ),
    gauge(
      'kubelet_mirror_pods',
      'The number of mirror pods the kubelet will try to create (one per admitted static pod)',
      [[{}, api.mirrorPodCount()]],
    ),
    gauge(
      'kubelet_managed_ephemeral_containers',
      'Current number of ephemeral containers in pods managed by this kubelet.',
      [[{}, ephemeral.reduce((sum, count) => sum + count, 0)]],
    ),
    gauge(
      'kubelet_pleg_last_seen_seconds',
      'Timestamp in seconds when PLEG was last seen active.',
      values(api.lastRelistMs(), (atMs) => Math.trunc(atMs / MS_PER_S)),
    ),
    gauge('kubelet_cgroup_version', 'cgroup version on the hosts.', values(api.cgroupVersion(), Number)),
  ];
}

function workingPods(workers: readonly PodWorker[]): [Labels, number][] {
  const keyOf = ({ lifecycle, config, isStatic }: PodWorker) => {
    const text = config === 'runtime_only' ? 'unknown' : isStatic ? 'true' : '';
    return `${lifecycle} ${config} ${text}`;
  };
  const counts = Map.groupBy(workers, keyOf);
  return LIFECYCLES.flatMap((lifecycle) =>
    CONFIGS.map(([config, text]): [Labels, number] => [
      { lifecycle, config, static: text },
      counts.get(`${lifecycle} ${config} ${text}`)?.length ?? 0,
    ]),
  );
}

function values<T>(known: T | undefined, toNumber: (known: T) => number): [Labels, number][] {
  return known === undefined ? [] : [[{}, toNumber(known)]];
}

function gauge(name: string, help: string, samples: Iterable<readonly [Labels, number]>): Metric {
  return metric({ name, type: 'gauge', help: `[ALPHA] ${help}` }, samples);
}
