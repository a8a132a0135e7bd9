/**
 * What parts of the agent tell of their work, for its metrics. A part gets them only where metrics are served; without them it measures
 * nothing. Each method costs about a microsecond and never throws.
 */

/** Ends a measurement. To be called once. */
export type Stopwatch = (outcome?: 'success' | 'failure') => void;

export type PodEffect = 'sync' | 'stop' | 'clean_up';

export interface ProbedContainer {
  readonly namespace: string;
  readonly pod: string;
  readonly podUID: string;
  readonly container: string;
  readonly probe: 'liveness' | 'readiness' | 'startup';
}

/** Of the agent's calls to the runtime, by the kubelet's names: `run_podsandbox`. */
export interface RuntimeMeasurements {
  runtimeOperation(operation: string): Stopwatch;
}

export interface CgroupMeasurements {
  cgroupOperation(operation: 'create' | 'update' | 'destroy'): Stopwatch;
}

export interface VolumeMeasurements {
  /** By the kubelet's name of the kind of volume: `kubernetes.io/empty-dir`. */
  volumeOperation(operation: 'volume_mount' | 'volume_unmount', plugin: string): Stopwatch;
}

/** What the parts of a node around its pods tell. */
export type NodeMeasurements = RuntimeMeasurements & CgroupMeasurements & VolumeMeasurements;

export interface ApiMeasurements {
  /** A request to the API server begins. To be ended with the server's host and the status of the answer; without one where there was none. */
  apiRequest(method: string): (host: string, status?: number) => void;
}

export interface ProbeMeasurements {
  /** Ended with the result of the probe; without one where it had none. */
  probe(target: ProbedContainer): (result?: 'Success' | 'Failure') => void;
  /** The probe is not run any more. */
  probeRemoved(target: ProbedContainer): void;
}

/** The lives of pods, by UID. */
export interface PodMeasurements {
  /** `isNew`: nothing of the pod ran before. */
  podAdded(uid: string, isNew: boolean): void;
  /** The chart of the pod is in that state now: `Syncing.Settled`. */
  podState(uid: string, state: string): void;
  /** An event was sent to the chart of the pod. */
  podEvent(uid: string, event: string): void;
  podPhase(uid: string, phase: string): void;
  podForgotten(uid: string): void;
  /** An effect of the pod begins. */
  podEffect(uid: string, effect: PodEffect): Stopwatch;
}

export type PluginCall = 'GetEvictPods' | 'ThresholdMet' | 'GetTopEvictionPods';

export interface PluginMeasurements {
  /** `refused`: an answer came, and not all of it was accepted. */
  pluginAnswered(plugin: string, call: PluginCall, result: 'success' | 'failure' | 'refused'): void;
  /** A pod is ended because this plugin named it; in a dry run it is not. */
  pluginVictim(plugin: string, isDryRun: boolean): void;
}

/** What the actors tell. */
export interface AgentMeasurements extends PodMeasurements, ProbeMeasurements, PluginMeasurements {
  /** All pods of the runtime are listed. */
  relist(): Stopwatch;
  /** A pod is evicted because of that signal of the node, or that limit of the pod. */
  evicted(signal: string): void;
}

export interface CertificateMeasurements {
  /** A certificate could not be renewed. */
  renewalFailed(kind: 'client' | 'serving'): void;
}

export type Measurements = NodeMeasurements & AgentMeasurements & ApiMeasurements & CertificateMeasurements;
