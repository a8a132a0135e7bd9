/** The measurements of the parts of the agent, as the kubelet's metrics. */
import type {
  Measurements,
  ProbedContainer,
  Stopwatch,
  VolumeOperation,
} from '../../../types/measurements.ts';
import type { KeptMemory } from '../../policies/cgroups/memory-qos.ts';
import { MetricSet, STORAGE_BOUNDS, USUAL_BOUNDS } from './counters.ts';
import type { Labels, Metric } from './metric-text.ts';
import { NodeLifeMetrics } from './node-life-metrics.ts';
import { PodMetrics } from './pod-metrics.ts';
import { ImageMetrics } from './image-metrics.ts';
import { EvictionPluginMetrics } from './eviction-plugin-metrics.ts';
import { PlegMetrics } from './pleg-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';
import { StartMetrics } from './start-metrics.ts';
import { PodResourcesMetrics } from './pod-resources-metrics.ts';
import { CsiMetrics } from './csi-metrics.ts';
import { DeviceMetrics } from './device-metrics.ts';
import { DraMetrics } from './dra-metrics.ts';
import { PlacementMetrics } from './placement-metrics.ts';
import { ResizeMetrics } from './resize-metrics.ts';
import { TurnoverMetrics } from './turnover-metrics.ts';

const MS_PER_S = 1000;
/** As client-go counts a request that got no answer. */
const NO_ANSWER = '<error>';

const PROBE_TYPES = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;
const PROBE_RESULTS = { Success: 'successful', Failure: 'failed' } as const;

/** 14 bounds in seconds, each 2.5 times the one before. */
export const RUNTIME_BOUNDS = Array.from({ length: 14 }, (_, index) => 0.005 * 2.5 ** index);
const REQUEST_BOUNDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** In seconds: from a minute to four years. */
const ROTATION_BOUNDS = [
  60, 3600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000,
];

export class AgentMetrics implements Measurements {
  readonly #set = new MetricSet();
  /** Served on a path of their own. */
  readonly #ofProbes = new MetricSet();
  readonly #nowMs: () => number;
  readonly turnover = new TurnoverMetrics();
  readonly resizes: ResizeMetrics;
  readonly podResources = new PodResourcesMetrics();
  readonly devices: DeviceMetrics;
  readonly dra: DraMetrics;
  readonly placement: PlacementMetrics;
  readonly nodeLife: NodeLifeMetrics;
  readonly requests: RequestMetrics;
  readonly starts: StartMetrics;
  readonly images: ImageMetrics;
  readonly pleg: PlegMetrics;
  readonly csi: CsiMetrics;
  readonly pods: PodMetrics;
  readonly plugins = new EvictionPluginMetrics();
  readonly #runtimeOperations = this.#set.counter(
    'kubelet_runtime_operations_total',
    '[ALPHA] Cumulative number of runtime operations by operation type.',
  );
  readonly #runtimeErrors = this.#set.counter(
    'kubelet_runtime_operations_errors_total',
    '[ALPHA] Cumulative number of runtime operation errors by operation type.',
  );
  readonly #runtimeDuration = this.#set.histogram(
    'kubelet_runtime_operations_duration_seconds',
    '[ALPHA] Duration in seconds of runtime operations. Broken down by operation type.',
    RUNTIME_BOUNDS,
  );
  readonly #cgroupDuration = this.#set.histogram(
    'kubelet_cgroup_manager_duration_seconds',
    '[ALPHA] Duration in seconds for cgroup manager operations. Broken down by method.',
    USUAL_BOUNDS,
  );
  readonly #storageDuration = this.#set.histogram(
    'storage_operation_duration_seconds',
    '[ALPHA] Storage operation duration',
    STORAGE_BOUNDS,
  );
  readonly #volumeTotal = this.#set.histogram(
    'volume_operation_total_seconds',
    '[ALPHA] Storage operation end to end duration in seconds',
    STORAGE_BOUNDS,
  );
  readonly #volumeWalk = this.#set.histogram(
    'kubelet_volume_metric_collection_duration_seconds',
    '[ALPHA] Duration in seconds to calculate volume stats',
    USUAL_BOUNDS,
  );
  readonly #apiRequests = this.#set.counter(
    'rest_client_requests_total',
    '[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.',
  );
  readonly #requestDuration = this.#set.histogram(
    'rest_client_request_duration_seconds',
    '[ALPHA] Request latency in seconds. Broken down by verb, and host.',
    REQUEST_BOUNDS,
  );
  readonly #evictions = this.#set.counter(
    'kubelet_evictions',
    '[ALPHA] Cumulative number of pod evictions by eviction signal',
  );
  readonly #evictionStatsAge = this.#set.histogram(
    'kubelet_eviction_stats_age_seconds',
    '[ALPHA] Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
    USUAL_BOUNDS,
  );
  readonly #sandboxDuration = this.#set.histogram(
    'kubelet_run_podsandbox_duration_seconds',
    '[ALPHA] Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
    USUAL_BOUNDS,
  );
  readonly #sandboxErrors = this.#set.counter(
    'kubelet_run_podsandbox_errors_total',
    '[ALPHA] Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
  );
  /** Undefined where the feature MemoryQoS is off. */
  #kept: KeptMemory | undefined;
  readonly #renewalErrors = {
    client: this.#set.counter(
      'kubelet_certificate_manager_client_expiration_renew_errors',
      '[ALPHA] Counter of certificate renewal errors.',
    ),
    serving: this.#set.counter(
      'kubelet_server_expiration_renew_errors',
      '[ALPHA] Counter of certificate renewal errors.',
    ),
  };
  readonly #servingRotation = this.#set.histogram(
    'kubelet_certificate_manager_server_rotation_seconds',
    '[ALPHA] Histogram of the number of seconds the previous certificate lived before being rotated.',
    ROTATION_BOUNDS,
  );
  readonly #probes = this.#ofProbes.counter(
    'prober_probe_total',
    '[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.',
  );
  readonly #probeDuration = this.#ofProbes.histogram(
    'prober_probe_duration_seconds',
    '[ALPHA] Duration in seconds for a probe response.',
    USUAL_BOUNDS,
  );

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.pods = new PodMetrics(nowMs);
    this.resizes = new ResizeMetrics(nowMs);
    this.devices = new DeviceMetrics(nowMs);
    this.dra = new DraMetrics(nowMs);
    this.placement = new PlacementMetrics(nowMs);
    this.nodeLife = new NodeLifeMetrics(nowMs);
    this.requests = new RequestMetrics(nowMs);
    this.starts = new StartMetrics(nowMs);
    this.images = new ImageMetrics(nowMs, this.starts);
    this.pleg = new PlegMetrics(nowMs);
    this.csi = new CsiMetrics(nowMs);
    this.#set.gauge(
      'kubelet_memory_qos_node_memory_min_bytes',
      '[ALPHA] Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is hard-reserved and never reclaimed by the kernel.',
      () => this.#kept && Number(this.#kept.guaranteedBytes),
    );
    this.#set.gauge(
      'kubelet_memory_qos_node_memory_low_bytes',
      '[ALPHA] Total cgroup v2 memory.low in bytes for Burstable pods. This memory is soft-reserved and may be reclaimed under extreme pressure.',
      () => this.#kept && Number(this.#kept.burstableBytes),
    );
    for (const errors of Object.values(this.#renewalErrors)) errors.add({}, 0);
  }

  runtimeOperation(operation: string): Stopwatch {
    const labels = { operation_type: operation };
    const beganMs = this.#nowMs();
    return (outcome) => {
      this.#runtimeOperations.add(labels);
      if (outcome === 'failure') this.#runtimeErrors.add(labels);
      this.#runtimeDuration.observe(labels, this.#secondsSince(beganMs));
    };
  }

  sandboxRun(handler: string): Stopwatch {
    const labels = { runtime_handler: handler };
    const beganMs = this.#nowMs();
    return (outcome) => {
      this.#sandboxDuration.observe(labels, this.#secondsSince(beganMs));
      if (outcome === 'failure') this.#sandboxErrors.add(labels);
    };
  }

  cgroupOperation(operation: 'create' | 'update' | 'destroy'): Stopwatch {
    return this.#cgroupDuration.startTimer(this.#nowMs, { operation_type: operation });
  }

  memoryKept(kept: KeptMemory): void {
    this.#kept = kept;
  }

  volumeOperation(operation: VolumeOperation, plugin: string): Stopwatch {
    const labels = { migrated: 'false', operation_name: operation, volume_plugin: plugin };
    const beganMs = this.#nowMs();
    return (outcome) => {
      const status = outcome === 'failure' ? 'fail-unknown' : 'success';
      this.#storageDuration.observe({ ...labels, status }, this.#secondsSince(beganMs));
    };
  }

  volumeWanted(plugin: string): Stopwatch {
    const labels = { operation_name: 'overall_volume_mount', plugin_name: plugin };
    return this.#volumeTotal.startTimer(this.#nowMs, labels);
  }

  volumeWalk(): Stopwatch {
    // The kubelet's name of figures from a walk through folders. Quotas of file systems and CSI drivers have other names.
    return this.#volumeWalk.startTimer(this.#nowMs, { metric_source: 'du' });
  }

  apiRequest(method: string): (host: string, status?: number) => void {
    const beganMs = this.#nowMs();
    return (host, status) => {
      this.#apiRequests.add({ code: status === undefined ? NO_ANSWER : String(status), host, method });
      this.#requestDuration.observe({ host, verb: method }, this.#secondsSince(beganMs));
    };
  }

  probe(target: ProbedContainer): (result?: 'Success' | 'Failure') => void {
    const beganMs = this.#nowMs();
    return (result) => {
      if (result === undefined) return;
      this.#probes.add({ ...probeLabels(target), pod_uid: target.podUID, result: PROBE_RESULTS[result] });
      // As with the kubelet: only of probes that succeed.
      if (result === 'Success') this.#probeDuration.observe(probeLabels(target), this.#secondsSince(beganMs));
    };
  }

  probeRemoved(target: ProbedContainer): void {
    const labels = probeLabels(target);
    for (const result of Object.values(PROBE_RESULTS))
      this.#probes.remove({ ...labels, pod_uid: target.podUID, result });
    this.#probeDuration.remove(labels);
  }

  evicted(signal: string): void {
    this.#evictions.add({ eviction_signal: signal });
  }

  evictionStatsAge(signal: string, ageMs: number): void {
    this.#evictionStatsAge.observe({ eviction_signal: signal }, ageMs / MS_PER_S);
  }

  renewalFailed(kind: 'client' | 'serving'): void {
    this.#renewalErrors[kind].add();
  }

  /** As with the kubelet, only of serving certificates. */
  rotated(kind: 'client' | 'serving', ageMs: number): void {
    if (kind === 'serving') this.#servingRotation.observe({}, ageMs / MS_PER_S);
  }

  metrics(): readonly Metric[] {
    return [
      this.#set,
      this.turnover,
      this.resizes,
      this.podResources,
      this.devices,
      this.dra,
      this.placement,
      this.nodeLife,
      this.requests,
      this.starts,
      this.images,
      this.pleg,
      this.csi,
      this.plugins,
      this.pods,
    ].flatMap((part) => part.metrics());
  }

  probeMetrics(): readonly Metric[] {
    return this.#ofProbes.metrics();
  }

  #secondsSince(beganMs: number): number {
    return (this.#nowMs() - beganMs) / MS_PER_S;
  }
}

function probeLabels({ namespace, pod, container, probe }: ProbedContainer): Labels {
  return { container, namespace, pod, probe_type: PROBE_TYPES[probe] };
}
