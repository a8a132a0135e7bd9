/** What the parts of the agent tell of their work, as the kubelet's metrics. */
import type {
  Measurements,
  PluginCall,
  PluginValidation,
  PluginVictim,
  CnrTaint,
  PodNotice,
  RequestedCondition,
  PodEffect,
  ProbedContainer,
  Stopwatch,
  VolumeOperation,
} from '../../../types/measurements.ts';
import type { KeptMemory } from '../../policies/cgroups/memory-qos.ts';
import { Counter, Histogram } from './counters.ts';
import {
  COUNTED,
  GAUGES,
  REQUEST_BOUNDS,
  ROTATION_BOUNDS,
  RUNTIME_BOUNDS,
  STORAGE_BOUNDS,
  USUAL_BOUNDS,
} from './metric-names.ts';
import { type Labels, type Metric, metric } from './metric-text.ts';
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

export class AgentMetrics implements Measurements {
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
  readonly #pods: PodMetrics;
  readonly #runtimeOperations = new Counter(COUNTED.runtimeOperations);
  readonly #runtimeErrors = new Counter(COUNTED.runtimeErrors);
  readonly #runtimeDuration = new Histogram(COUNTED.runtimeDuration, RUNTIME_BOUNDS);
  readonly #cgroupDuration = new Histogram(COUNTED.cgroupDuration, USUAL_BOUNDS);
  readonly #storageDuration = new Histogram(COUNTED.storageDuration, STORAGE_BOUNDS);
  readonly #volumeTotal = new Histogram(COUNTED.volumeTotal, STORAGE_BOUNDS);
  readonly #volumeWalk = new Histogram(COUNTED.volumeWalk, USUAL_BOUNDS);
  readonly #apiRequests = new Counter(COUNTED.requests);
  readonly #requestDuration = new Histogram(COUNTED.requestDuration, REQUEST_BOUNDS);
  readonly #evictions = new Counter(COUNTED.evictions);
  readonly #evictionStatsAge = new Histogram(COUNTED.evictionStatsAge, USUAL_BOUNDS);
  readonly #sandboxDuration = new Histogram(COUNTED.sandboxDuration, USUAL_BOUNDS);
  readonly #sandboxErrors = new Counter(COUNTED.sandboxErrors);
  readonly #evictionPlugins = new EvictionPluginMetrics();
  /** Undefined where the feature MemoryQoS is off. */
  #kept: KeptMemory | undefined;
  readonly #pluginAnswers = new Counter(COUNTED.pluginAnswers);
  readonly #pluginValidations = new Counter(COUNTED.pluginValidations);
  readonly #pluginVictims = new Counter(COUNTED.pluginVictims);
  readonly #pluginDryRunVictims = new Counter(COUNTED.pluginDryRunVictims);
  readonly #renewalErrors = {
    client: new Counter(COUNTED.clientRenewalErrors),
    serving: new Counter(COUNTED.servingRenewalErrors),
  };
  readonly #servingRotation = new Histogram(COUNTED.servingRotation, ROTATION_BOUNDS);
  readonly #probes = new Counter(COUNTED.probes);
  readonly #probeDuration = new Histogram(COUNTED.probeDuration, USUAL_BOUNDS);

  /** `nowMs`: of a clock that is never set. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#pods = new PodMetrics(nowMs);
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
    for (const errors of Object.values(this.#renewalErrors)) errors.add({}, 0);
  }

  get effectsInFlight(): ReadonlyMap<PodEffect, number> {
    return this.#pods.effectsInFlight;
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
    // So the kubelet calls figures that come from a walk through folders. Quotas of file systems and CSI drivers have other names.
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

  pluginPods(active: number, candidates: number): void {
    this.#evictionPlugins.pods(active, candidates);
  }

  pluginsDecided(victims: readonly PluginVictim[], conditions: readonly RequestedCondition[]): void {
    this.#evictionPlugins.decided(victims, conditions);
  }

  podsNotified(notices: readonly PodNotice[]): void {
    this.#evictionPlugins.notified(notices);
  }

  cnrTaints(taints: readonly CnrTaint[]): void {
    this.#evictionPlugins.tainted(taints);
  }

  pluginAnswered(plugin: string, call: PluginCall, result: 'success' | 'failure' | 'refused'): void {
    this.#pluginAnswers.add({ plugin, call, result });
  }

  /** Whoever is refused can come again under any name: such names are not kept. */
  pluginValidated(labels: PluginValidation): void {
    const isTaken = labels.valid === 'true' || labels.strict === 'false';
    this.#pluginValidations.add({ ...labels, ...(!isTaken && { name: '' }) });
  }

  pluginVictim(plugin: string, isDryRun: boolean): void {
    (isDryRun ? this.#pluginDryRunVictims : this.#pluginVictims).add({ plugin });
  }

  renewalFailed(kind: 'client' | 'serving'): void {
    this.#renewalErrors[kind].add();
  }

  /** As with the kubelet, only of serving certificates. */
  rotated(kind: 'client' | 'serving', ageMs: number): void {
    if (kind === 'serving') this.#servingRotation.observe({}, ageMs / MS_PER_S);
  }

  podAdded(uid: string, isNew: boolean): void {
    this.#pods.podAdded(uid, isNew);
  }

  podState(uid: string, state: string): void {
    this.#pods.podState(uid, state);
  }

  podEvent(uid: string, event: string): void {
    this.#pods.podEvent(uid, event);
  }

  podPhase(uid: string, phase: string): void {
    this.#pods.podPhase(uid, phase);
  }

  podForgotten(uid: string): void {
    this.#pods.podForgotten(uid);
    this.starts.forget(uid);
  }

  podEffect(uid: string, effect: PodEffect): Stopwatch {
    return this.#pods.podEffect(uid, effect);
  }

  metrics(): readonly Metric[] {
    const { client, serving } = this.#renewalErrors;
    const counted = [
      this.#runtimeOperations,
      this.#runtimeErrors,
      this.#runtimeDuration,
      this.#cgroupDuration,
      this.#storageDuration,
      this.#volumeTotal,
      this.#volumeWalk,
      this.#apiRequests,
      this.#requestDuration,
      this.#evictions,
      this.#evictionStatsAge,
      this.#sandboxDuration,
      this.#sandboxErrors,
      this.#pluginAnswers,
      this.#pluginValidations,
      this.#pluginVictims,
      this.#pluginDryRunVictims,
      client,
      serving,
      this.#servingRotation,
    ];
    return [
      ...counted.map((one) => one.metric()),
      metric(
        { ...GAUGES.memoryMin, type: 'gauge' },
        this.#kept ? [[{}, Number(this.#kept.guaranteedBytes)]] : [],
      ),
      metric(
        { ...GAUGES.memoryLow, type: 'gauge' },
        this.#kept ? [[{}, Number(this.#kept.burstableBytes)]] : [],
      ),
      ...this.turnover.metrics(),
      ...this.resizes.metrics(),
      ...this.podResources.metrics(),
      ...this.devices.metrics(),
      ...this.dra.metrics(),
      ...this.placement.metrics(),
      ...this.nodeLife.metrics(),
      ...this.requests.metrics(),
      ...this.starts.metrics(),
      ...this.images.metrics(),
      ...this.pleg.metrics(),
      ...this.csi.metrics(),
      ...this.#evictionPlugins.metrics(),
      ...this.#pods.metrics(),
    ];
  }

  probeMetrics(): readonly Metric[] {
    return [this.#probes.metric(), this.#probeDuration.metric()];
  }

  #secondsSince(beganMs: number): number {
    return (this.#nowMs() - beganMs) / MS_PER_S;
  }
}

function probeLabels({ namespace, pod, container, probe }: ProbedContainer): Labels {
  return { container, namespace, pod, probe_type: PROBE_TYPES[probe] };
}
