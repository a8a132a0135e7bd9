/** What `/metrics` shows of the node as it is at the scrape: the kubelet's gauges, and the agent's own. */
import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import { isTerminalPhase } from '../../policies/termination/pod-termination.ts';
import { pluginOf } from '../../policies/volumes/claimed-volume.ts';
import { usedVolumes } from '../../policies/volumes/volume-source.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { PodWorker, ServedPod } from '../../../types/served-pod.ts';
import type { NodeApi, PluginSocket } from '../routes/node-api.ts';
import { type Labels, type Metric, metric } from './metric-text.ts';

export type NodeMetricsApi = Pick<
  NodeApi,
  | 'nodeName'
  | 'pods'
  | 'runtimePods'
  | 'certificateEnds'
  | 'agentCounters'
  | 'metricsProvider'
  | 'pluginSockets'
  | 'claimedVolume'
> &
  WorkerMetricsApi;

const MS_PER_S = 1000;

/** `nowMs`: Unix ms. */
export function nodeMetrics(api: NodeMetricsApi, nowMs: number): readonly Metric[] {
  const pods = [...api.pods()];
  const runtimePods = [...api.runtimePods()];
  return [
    ...runtimeGauges(runtimePods),
    ...podGauges(pods),
    ...workerMetrics(api),
    volumeGauge(api, pods, runtimePods),
    ...resizeGauges(pods),
    ...certificateGauges(api.certificateEnds(), nowMs),
    ...ownGauges(pods, api.agentCounters?.pods.effectsInFlight),
    pluginGauge(api.pluginSockets()),
    gauge(
      'kubelet_metrics_provider',
      "[ALPHA] Metrics provider used by kubelet to collect container stats. Values can be 'cadvisor' and 'cri'",
      [[{ provider: api.metricsProvider }, 1]],
    ),
    gauge('kubelet_node_name', "[ALPHA] The node's name. The count is always 1.", [
      [{ node: api.nodeName }, 1],
    ]),
  ];
}

function runtimeGauges(pods: readonly RuntimePodStatus[]): readonly Metric[] {
  const states = tally(pods.flatMap(({ containers }) => containers.map(({ state }) => state)));
  return [
    gauge('kubelet_running_pods', '[ALPHA] Number of pods that have a running pod sandbox', [
      [{}, pods.filter(hasReadySandbox).length],
    ]),
    gauge(
      'kubelet_running_containers',
      '[ALPHA] Number of containers currently running',
      labelled('container_state', states),
    ),
  ];
}

function podGauges(pods: readonly ServedPod[]): readonly Metric[] {
  const active = pods.filter(({ pod, status }) => !isTerminalPhase((status ?? pod.status)?.phase));
  return [
    gauge(
      'kubelet_desired_pods',
      '[ALPHA] The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.',
      byKind(pods),
    ),
    gauge(
      'kubelet_active_pods',
      '[ALPHA] The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.',
      byKind(active),
    ),
  ];
}

function resizeGauges(pods: readonly ServedPod[]): readonly Metric[] {
  const conditions = pods.flatMap(({ status }) => status?.conditions ?? []);
  const of = (wanted: string) => conditions.filter(({ type }) => type === wanted);
  const reasons = tally(of('PodResizePending').map(({ reason = '' }) => reason.toLowerCase()));
  return [
    gauge(
      'kubelet_pod_pending_resizes',
      '[ALPHA] Number of pending resizes for pods.',
      labelled('reason', reasons),
    ),
    gauge('kubelet_pod_in_progress_resizes', '[ALPHA] Number of in-progress resizes for pods.', [
      [{}, of('PodResizeInProgress').length],
    ]),
  ];
}

/** Volumes are mounted before the sandbox of their pod is made, and unmounted after it is gone. */
function volumeGauge(
  api: Pick<NodeApi, 'claimedVolume'>,
  pods: readonly ServedPod[],
  runtimePods: readonly RuntimePodStatus[],
): Metric {
  const mounted = new Set(runtimePods.filter(hasReadySandbox).map(({ uid }) => uid));
  const plugins = (wanted: readonly ServedPod[]) => tally(wanted.flatMap(({ pod }) => pluginsOf(api, pod)));
  const rows = (state: string, counts: ReadonlyMap<string, number>) =>
    Array.from(counts, ([plugin, count]) => [{ plugin_name: plugin, state }, count] as const);
  return gauge('volume_manager_total_volumes', '[ALPHA] Number of volumes in Volume Manager', [
    ...rows('actual_state_of_world', plugins(pods.filter(({ pod }) => mounted.has(pod.metadata.uid)))),
    ...rows('desired_state_of_world', plugins(pods)),
  ]);
}

function pluginGauge(sockets: readonly PluginSocket[]): Metric {
  const rows = (state: string, shown: readonly PluginSocket[]) =>
    shown.map(({ path }) => [{ socket_path: path, state }, 1] as const);
  return gauge('plugin_manager_total_plugins', '[ALPHA] Number of plugins in Plugin Manager', [
    ...rows(
      'actual_state_of_world',
      sockets.filter(({ isRegistered }) => isRegistered),
    ),
    ...rows('desired_state_of_world', sockets),
  ]);
}

function certificateGauges(
  { client, serving }: ReturnType<NodeApi['certificateEnds']>,
  nowMs: number,
): readonly Metric[] {
  const ttl = (endMs: number | undefined) =>
    endMs === undefined ? Infinity : Math.trunc((endMs - nowMs) / MS_PER_S);
  const help = (what: string, shortest: string) =>
    `[ALPHA] Gauge of the ${shortest}TTL (time-to-live) of the Kubelet's ${what} certificate. The value is in seconds until certificate expiry (negative if already expired). If ${what} certificate is invalid or unused, the value will be +INF.`;
  return [
    gauge('kubelet_certificate_manager_client_ttl_seconds', help('client', ''), [[{}, ttl(client)]]),
    gauge('kubelet_certificate_manager_server_ttl_seconds', help('serving', 'shortest '), [
      [{}, ttl(serving)],
    ]),
  ];
}

function ownGauges(
  pods: readonly ServedPod[],
  effectsInFlight: ReadonlyMap<string, number> | undefined,
): readonly Metric[] {
  return [
    gauge(
      'statelet_pods',
      'Pods by the state of their chart.',
      labelled('state', tally(pods.map(({ state }) => state))),
    ),
    gauge(
      'statelet_pod_effects_in_flight',
      'Effects of pods that are under way: a pod has one at most.',
      labelled('effect', effectsInFlight ?? new Map()),
    ),
  ];
}

function gauge(
  name: string,
  help: string,
  values: Iterable<readonly [labels: Labels, value: number]>,
): Metric {
  return metric({ name, type: 'gauge', help }, values);
}

function byKind(pods: readonly ServedPod[]): [Labels, number][] {
  const statics = pods.filter(({ pod }) => isManifestPod(pod)).length;
  return [
    [{ static: '' }, pods.length - statics],
    [{ static: 'true' }, statics],
  ];
}

/** A volume of a kind that is not supported here is not mounted. As with the kubelet, a claim counts once it is known what it leads to. */
function pluginsOf({ claimedVolume }: Pick<NodeApi, 'claimedVolume'>, pod: Pod): readonly string[] {
  return usedVolumes(pod).flatMap((volume) => {
    try {
      return pluginOf({ volume, claimed: claimedVolume(pod.metadata.uid, volume.name) });
    } catch {
      return [];
    }
  });
}

function hasReadySandbox({ sandboxes }: RuntimePodStatus): boolean {
  return sandboxes.some(({ ready }) => ready);
}

function tally(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys.toSorted()) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function labelled(label: string, counts: ReadonlyMap<string, number>): [Labels, number][] {
  return Array.from(counts, ([key, count]) => [{ [label]: key }, count]);
}

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

/** The kubelet's metrics of its pod workers, for the actors of pods. */
export function workerMetrics(api: WorkerMetricsApi): readonly Metric[] {
  const ephemeral = [...api.desiredPods()].map(({ spec }) => spec.ephemeralContainers?.length ?? 0);
  return [
    gauge(
      'kubelet_working_pods',
      '[ALPHA] Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from local configuration or force deleted in the API and consumes resources that are not otherwise visible.',
      workingPods([...api.workers()]),
    ),
    gauge(
      'kubelet_mirror_pods',
      '[ALPHA] The number of mirror pods the kubelet will try to create (one per admitted static pod)',
      [[{}, api.mirrorPodCount()]],
    ),
    gauge(
      'kubelet_managed_ephemeral_containers',
      '[ALPHA] Current number of ephemeral containers in pods managed by this kubelet.',
      [[{}, ephemeral.reduce((sum, count) => sum + count, 0)]],
    ),
    gauge(
      'kubelet_pleg_last_seen_seconds',
      '[ALPHA] Timestamp in seconds when PLEG was last seen active.',
      values(api.lastRelistMs(), (atMs) => Math.trunc(atMs / MS_PER_S)),
    ),
    gauge(
      'kubelet_cgroup_version',
      '[ALPHA] cgroup version on the hosts.',
      values(api.cgroupVersion(), Number),
    ),
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
