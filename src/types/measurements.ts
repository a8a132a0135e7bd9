/**
 * The measurements of the parts of the agent, for its metrics. A part gets them only where metrics are served; without them it measures nothing. Each
 * method costs about a microsecond and never throws.
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
  /** A sandbox is made. `handler`: the one of the pod's RuntimeClass, else empty. */
  sandboxRun(handler: string): Stopwatch;
}

/** How the agent learns of changes in the runtime: by its own lists, and by the runtime's events. */
export interface PlegMeasurements {
  /** All pods of the runtime are listed. */
  relist(): Stopwatch;
  /** One pod is read. */
  podRelist(): Stopwatch;
  eventsAsked(): void;
  /** The stream of CRI's events has failed. */
  eventsFailed(): void;
  /** An event of CRI's has come so long after it happened. */
  eventHeard(delayMs: number): void;
}

/** Whether a pod may use an image that is present, or has to show its credentials to the registry. By the kubelet's names. */
export type PullCheck = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';

export interface ImageMeasurements {
  /** A plugin is asked for credentials: it is run. */
  credentialPlugin(plugin: string): Stopwatch;
  /** The configuration of those plugins: its hash. */
  credentialProviders(hash: string): void;
  pullChecked(result: PullCheck): void;
  /** How many records of pulls are on the disk: of those under way, and of images that were pulled. */
  pullRecords(pulling: number, pulled: number): void;
  imagePulled(sizeBytes: number, durationMs: number): void;
  /** An image is pulled for a container of the pod. */
  podPull(uid: string): Stopwatch;
  /** A container needs its image. Undefined: it was not looked whether it is on the node, or has to be pulled. */
  imageEnsured(
    policy: 'Always' | 'IfNotPresent' | 'Never',
    isPresent?: boolean,
    isPullRequired?: boolean,
  ): void;
  /** An unused image was removed. */
  imageCollected(reason: 'age' | 'space'): void;
}

export interface CgroupMeasurements {
  cgroupOperation(operation: 'create' | 'update' | 'destroy'): Stopwatch;
  /** How much memory the kernel keeps for pods, by their QoS class. */
  memoryKept(kept: { readonly guaranteedBytes: bigint; readonly burstableBytes: bigint }): void;
}

export interface CsiMeasurements {
  /** A driver is asked. `method`: its path in gRPC. To be ended with the code of the answer: `OK`, `Unavailable`. */
  operation(driver: string, method: string): (code: string) => void;
}

/** By the kubelet's names. */
export type VolumeOperation =
  | 'volume_mount'
  | 'volume_unmount'
  | 'map_volume'
  | 'unmap_volume'
  | 'verify_controller_attached_volume'
  | 'unmount_device'
  | 'unmap_device';

export interface VolumeMeasurements {
  /** By the kubelet's name of the kind of volume: `kubernetes.io/empty-dir`, `kubernetes.io/csi:DRIVER`. */
  volumeOperation(operation: VolumeOperation, plugin: string): Stopwatch;
  /** A pod wants a volume. Ended when it is mounted, after however many tries. */
  volumeWanted(plugin: string): Stopwatch;
  /** A volume is walked through, to know what it uses of the disk. */
  volumeWalk(): Stopwatch;
}

/** What DRA drivers are asked, by the kubelet's names. */
export interface DraMeasurements {
  /** All claims of a pod are prepared, or unprepared. */
  operation(name: 'PrepareResources' | 'UnprepareResources'): Stopwatch;
  /** A method of a driver is called. To be ended with gRPC's code. */
  called(driver: string, method: string): (code: string) => void;
  /** So many claims are held for pods now. */
  claimsInUse(all: number, byDriver: ReadonlyMap<string, number>): void;
}

/** The measurements of the parts of a node around its pods. */
export type NodeMeasurements = RuntimeMeasurements &
  CgroupMeasurements &
  VolumeMeasurements & {
    readonly images: ImageMeasurements;
    readonly pleg: PlegMeasurements;
    readonly csi: CsiMeasurements;
    readonly devices: DeviceMeasurements;
    readonly dra: DraMeasurements;
    readonly placement: PlacementMeasurements;
  };

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
  added(uid: string, isNew: boolean): void;
  /** The chart of the pod is in that state now: `Syncing.Settled`. */
  inState(uid: string, state: string): void;
  /** An event was sent to the chart of the pod. */
  sent(uid: string, event: string): void;
  inPhase(uid: string, phase: string): void;
  forgotten(uid: string): void;
  /** An effect of the pod begins. */
  effect(uid: string, effect: PodEffect): Stopwatch;
}

export interface PluginVictim {
  readonly plugin: string;
  readonly namespace: string;
  readonly name: string;
  /** `unknown` where the pod names one that there is not. */
  readonly qos: string;
  /** `empty` for a pod without one. */
  readonly priority: string;
}

/** Labels of Katalyst's metric: a condition that a plugin has reported with its threshold. */
export interface RequestedCondition {
  readonly name: string;
  readonly condition_name: string;
  readonly condition_type: string;
  readonly effects: string;
  readonly dryrun: string;
}

/** Labels of Katalyst's metric: a pod that got a notice of its eviction by a file, or whose notice failed. */
export interface PodNotice {
  readonly state: 'succeeded' | 'failed';
  readonly pod_ns: string;
  readonly pod_name: string;
  readonly plugin_name: string;
}

/** Labels of Katalyst's metric: a taint of the node's CustomNodeResource that a condition of a plugin asks for. */
export interface CnrTaint {
  readonly qos_level: string;
  readonly key: string;
  readonly effect: string;
}

export type PluginCall = 'GetEvictPods' | 'ThresholdMet' | 'GetTopEvictionPods';

/** Labels of Katalyst's metric: whether a plugin has proved who it is. */
export interface PluginValidation {
  readonly name: string;
  readonly strict: string;
  readonly valid: string;
  readonly reason: string;
  readonly user: string;
}

export interface PluginMeasurements {
  /** A plugin that wants to register was asked for its token. */
  validated(labels: PluginValidation): void;
  /** `refused`: an answer came, and not all of it was accepted. */
  answered(plugin: string, call: PluginCall, result: 'success' | 'failure' | 'refused'): void;
  /** A pod is ended because this plugin named it; in a dry run it is not. */
  victim(plugin: string, isDryRun: boolean): void;
  /** A pass begins: how many pods are active, and how many of them plugins are shown. */
  pods(active: number, candidates: number): void;
  /** The result of a pass: the pods that are ended in it, and the conditions that plugins have reported. */
  decided(victims: readonly PluginVictim[], conditions: readonly RequestedCondition[]): void;
  /** The pods that a pass has notified. */
  notified(notices: readonly PodNotice[]): void;
  /** The taints that the CustomNodeResource is to have for conditions, each time that they are compared. */
  tainted(taints: readonly CnrTaint[]): void;
}

export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** How pods come and go. Whoever counts bounds the labels that pods or the runtime could choose. */
export interface TurnoverMeasurements {
  /** A pod is ended for a critical pod that lacks that resource. */
  preempted(resource: string): void;
  admitted(containerCount: number): void;
  /** A pod is not admitted. */
  rejected(reason: string): void;
  /** A pod starts anew with the UID of one that has ended. */
  restarted(isStatic: boolean): void;
  /** A pod runs that only the runtime knows. */
  orphaned(): void;
  /** A search for what is on the node of pods that neither a source nor the runtime knows: how many pods it has found, and of how many the removal has failed. */
  swept(found: number, failed: number): void;
  /** A sandbox is about to be made for a pod. `failed`: it could not be made. */
  podStarted(hasUserNamespace: boolean, failed?: boolean): void;
  /** A container is about to be started. `failure`: the reason why it did not start. */
  containerStarted(type: ContainerType, failure?: string): void;
  /** A container is about to be created that mounts so many images as volumes. */
  imageVolumesRequested(count: number): void;
  /** It was created, or the runtime could not mount one of them. `count`: by their mounts. */
  imageVolumesMounted(count: number, outcome: 'success' | 'failure'): void;
  /** A hook over HTTPS was sent again by HTTP, and has succeeded. */
  hookFellBack(): void;
  /** The sleep of a hook has ended before its time. */
  sleepCutShort(): void;
  containerTerminated(type: ContainerType, exitCode: number, reason: string): void;
}

/** One amount of a container that its spec asks for anew. */
export interface RequestedResize {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

export type InfeasibleReason =
  | 'swap_limitation'
  | 'runtime_limitation'
  | 'insufficient_node_allocatable'
  | 'guaranteed_pod_cpu_manager_static_policy'
  | 'guaranteed_pod_memory_manager_static_policy';

/** Changes of the resources of pods. */
export interface ResizeMeasurements {
  requested(resize: RequestedResize): void;
  /** This node can never grant it. By the kubelet's name of the reason. */
  infeasible(reason: InfeasibleReason): void;
  /** A resize that had to wait is granted. `trigger`: what has made the node look again, by the kubelet's names. */
  deferredAccepted(trigger: string): void;
  /** A resize is carried out. */
  carriedOut(): Stopwatch;
}

export interface CpuFigures {
  /** That containers may still get for themselves. */
  readonly free: number;
  /** That containers have for themselves, by NUMA node. */
  readonly exclusive: ReadonlyMap<number, number>;
}

/** How CPUs and memory are kept for containers, and how near to each other what a container has is. */
export interface PlacementMeasurements {
  /** A pod is about to be given devices, CPUs and memory. A failure: they cannot be where the topology policy wants them. */
  admission(): Stopwatch;
  /** A container is to have CPUs or memory for itself. */
  pinned(resource: 'cpu' | 'memory', isGiven: boolean): void;
  /** What a container or a pod was given does, or could not, lie within one of these, as the node promises. */
  aligned(
    scope: 'container' | 'pod',
    boundary: 'numa_node' | 'physical_cpu' | 'uncore_cache',
    isAligned: boolean,
  ): void;
  /** At the start and with each change, on a node that gives CPUs to containers for themselves. */
  cpus(figures: CpuFigures): void;
}

export interface DeviceMeasurements {
  /** A device plugin has asked to be registered. */
  registered(resource: string): void;
  /** A container asks for devices. Ended when its plugin has given them. */
  allocated(resource: string): Stopwatch;
}

/** How the node starts and ends, and what it reports to the API server. Times are Unix ms. */
export interface NodeLifeMeasurements {
  /** The status of a pod has changed. To be ended when the API server has it. */
  statusChanged(): Stopwatch;
  /** The pods of the node are ended, because it shuts down. */
  shutdownBegan(atMs: number): void;
  shutdownEnded(atMs: number): void;
  /** The Node object is about to be made. */
  registrationBegan(atMs: number): void;
  /** The API server has made it: there was none. */
  registered(atMs: number): void;
  /** The API server knows that the node is ready. */
  nodeReady(atMs: number): void;
}

export interface PodStart {
  readonly sinceCreationMs: number;
  /** It has volumes that outlive it, or that others see. */
  readonly isStateful: boolean;
  readonly hostNetwork: boolean;
}

/** How long pods of the API server take to start. */
export interface StartMeasurements {
  /** A pod has come that no node has begun. */
  awaited(uid: string): void;
  initContainerRan(uid: string, durationMs: number): void;
  /** The API server knows that all containers of the pod run. May be called again. */
  started(uid: string, start: PodStart): void;
  forgotten(uid: string): void;
}

export interface NodeRequest {
  readonly method: string;
  /** Decoded; undefined where it is none. */
  readonly path: string | undefined;
  /** On `readOnlyPort`. */
  readonly isReadOnly: boolean;
}

/** Of the requests to the ports of the node. Whoever counts bounds the labels that clients could choose. */
export interface RequestMeasurements {
  /** A request has come. Ended when its answer, or its connection, has ended. */
  nodeRequest(request: NodeRequest): Stopwatch;
  /** A client takes the connection over for a stream, by WebSocket. */
  webSocketAdmitted(path: string): void;
}

/** The measurements of the actors. */
export interface AgentMeasurements extends ProbeMeasurements {
  readonly pods: PodMeasurements;
  readonly plugins: PluginMeasurements;
  readonly turnover: TurnoverMeasurements;
  readonly resizes: ResizeMeasurements;
  readonly nodeLife: NodeLifeMeasurements;
  readonly starts: StartMeasurements;
  readonly pleg: PlegMeasurements;
  /** A pod is evicted because of that signal of the node, or that limit of the pod. */
  evicted(signal: string): void;
  /** Pods are ranked for eviction by figures of that age. */
  evictionStatsAge(signal: string, ageMs: number): void;
}

export type PodResourcesMethod = 'list' | 'get_allocatable' | 'get';

/** Of the requests to the PodResources API. */
export interface PodResourcesMeasurements {
  /** `method`: of those of v1. */
  asked(version: string, method?: PodResourcesMethod): void;
  /** No pod of that name was found. */
  failed(version: string): void;
}

export interface CertificateMeasurements {
  /** A certificate could not be renewed. */
  renewalFailed(kind: 'client' | 'serving'): void;
  /** A new certificate takes the place of one that was made so long ago. */
  rotated(kind: 'client' | 'serving', ageMs: number): void;
}

export interface Measurements
  extends NodeMeasurements, AgentMeasurements, ApiMeasurements, CertificateMeasurements {
  readonly requests: RequestMeasurements;
  readonly podResources: PodResourcesMeasurements;
}
