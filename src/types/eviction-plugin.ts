/** The questions to eviction plugins and their answers, by the names of Katalyst's protocol `evictionplugin.v1alpha1`. */
import type { Pod } from './kubernetes.ts';
import type { PSIStats } from './stats.ts';

export type ConditionType = 'NODE_CONDITION' | 'CNR_CONDITION';

/** A condition of the node that a plugin reports. Its effects are those of taints. */
export interface PluginCondition {
  readonly name: string;
  readonly type: ConditionType;
  readonly effects: readonly string[];
  readonly met: boolean;
}

/** A pod as an answer names it: the rest of the object that a plugin sends back is not read. */
export interface NamedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The node that the answer says it is bound to; empty where it says none. */
  readonly nodeName: string;
}

/** A pod that a plugin wants to go. `P`: a pod of this node, or a name that has not been checked yet. */
export interface EvictPod<P = Pod> {
  readonly pod: P;
  readonly reason: string;
  /** Otherwise it is one candidate among those of all plugins. */
  readonly forceEvict: boolean;
  /** Undefined: the pod's own grace period. */
  readonly gracePeriodSeconds?: number;
}

export interface GetEvictPodsAnswer<P = Pod> {
  readonly evictPods: readonly EvictPod<P>[];
  readonly condition?: PluginCondition;
}

export type ThresholdMetType = 'NOT_MET' | 'SOFT_MET' | 'HARD_MET';
export type ThresholdOperator = 'LESS_THAN' | 'GREATER_THAN';

export interface ThresholdMetAnswer<P = Pod> {
  readonly metType: ThresholdMetType;
  /** What the threshold is about, such as `memory`. */
  readonly scope: string;
  readonly thresholdValue: number;
  readonly observedValue: number;
  /** How long it must have been met before pods are chosen. */
  readonly gracePeriodSeconds: number;
  readonly condition?: PluginCondition;
  readonly candidatePods: readonly P[];
}

export interface TopEvictionPodsAnswer<P = Pod> {
  readonly targetPods: readonly P[];
  readonly gracePeriodSeconds?: number;
}

/** The pods of one pass. The same object is given to every plugin in it, and to none in another one: what belongs to the pass can be kept with it. */
export interface ActivePods {
  readonly pods: readonly Pod[];
}

export interface PluginQuestion {
  readonly activePods: ActivePods;
  /** Aborts when the answer is not waited for any longer. */
  readonly signal: AbortSignal;
}

export interface TopEvictionPodsQuestion extends PluginQuestion {
  readonly topN: number;
  readonly evictionScope: string;
  /** Of candidates that the plugin has named, as far as something is known of them. */
  readonly candidateEvictionRecords?: readonly EvictionRecord[];
}

/** The disruption budget of a pod, and what was evicted of its owner on this node. */
export interface EvictionRecord {
  readonly uid: string;
  readonly hasPdb: boolean;
  readonly buckets: readonly EvictionBucket[];
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
}

/** So many evictions in so many seconds from that time on, which is in Unix seconds. */
export interface EvictionBucket {
  readonly time: number;
  readonly duration: number;
  readonly count: number;
}

/** A plugin that is asked, in this process or in another one. A promise rejects where the plugin fails, answers nothing, or answers nonsense. */
export interface EvictionPlugin {
  readonly name: string;
  /** Only of one that is built in. False: its settings say that it has nothing to answer. */
  readonly isEnabled?: boolean;
  thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>>;
  getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>>;
  getEvictPods(question: PluginQuestion): Promise<GetEvictPodsAnswer<NamedPod>>;
}

/** How the memory of the machine is used, for the built-in eviction plugins. Figures that the kernel does not have are left out. */
export interface MachineMemory {
  readonly totalBytes: number;
  /** Not counting cached files, as `MemFree`. */
  readonly freeBytes: number;
  /** `vm.watermark_scale_factor`: how far watermarks are apart, in ten-thousandths of the memory. */
  readonly watermarkScaleFactor?: number;
  /** How many pages kswapd has taken back since the machine was started. */
  readonly kswapdPages?: number;
  /** How long tasks wait for memory. */
  readonly psi?: PSIStats;
}

/** One NUMA node. Free memory and watermarks are those of the zone that programs mostly get their memory from. */
export interface NumaNodeMemory {
  readonly id: number;
  /** Of all zones of the node. */
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Below it programs wait until the kernel has taken memory back. */
  readonly minBytes: number;
  /** Below it kswapd begins to take memory back. */
  readonly lowBytes: number;
  readonly inactiveFileBytes: number;
}

export type BytesByNumaNode = ReadonlyMap<number, number>;

/** Each call reads the kernel's files. */
export interface NodeMemoryFigures {
  /** Undefined if the kernel does not report it. */
  machine(): MachineMemory | undefined;
  /** Empty if the kernel does not report it. */
  numaNodes(): readonly NumaNodeMemory[];
  /** On which NUMA nodes the memory of pods lies, by UID: only of pods with a cgroup that counts it. */
  podsByNumaNode(): ReadonlyMap<string, BytesByNumaNode>;
}

/** How many tasks want to run. */
export interface MachineLoad {
  /** The average of the last minute, as in /proc/loadavg. */
  readonly load1: number;
  /** Those that are online. */
  readonly cpus: number;
  /** How long tasks wait for a CPU. */
  readonly psi?: PSIStats;
}

/** The CPUs of one NUMA node. Ticks are counted since the machine was started. */
export interface NumaNodeCpu {
  readonly id: number;
  readonly cpus: number;
  readonly busyTicks: number;
  /** The part of them in which the kernel worked, also for programs. */
  readonly systemTicks: number;
  readonly totalTicks: number;
}

/** Since the pod was started, in microseconds. */
export interface PodCpuTime {
  readonly usage: number;
  /** The part of it in which the kernel worked for the pod. */
  readonly system: number;
}

/** By UID: only of pods with a cgroup that counts it. */
export type CpuTimesOfPods = ReadonlyMap<string, PodCpuTime>;

/** The number of the NUMA node, by UID: only of pods whose containers have CPUs of one node alone. */
export type NumaNodesOfPods = ReadonlyMap<string, number>;

/** Each call reads the kernel's files. */
export interface NodeCpuFigures {
  /** Undefined if the kernel does not report it. */
  load(): MachineLoad | undefined;
  /** Empty if the kernel does not report it. */
  numaNodes(): readonly NumaNodeCpu[];
  /** Of the pods with these UIDs. Empty on a machine with one NUMA node. */
  podsOnOneNode(uids: readonly string[]): NumaNodesOfPods;
  timesOfPods(uids: readonly string[]): CpuTimesOfPods;
}

/** A network interface of a device of the machine, or one that bonds such interfaces. */
export interface NetworkLink {
  readonly name: string;
  readonly isUp: boolean;
  /** Left out if the kernel does not report it. */
  readonly carrier?: boolean;
  /** Of RFC 2863, as the kernel writes it: `up`, `down`, `lowerlayerdown`, `unknown`. */
  readonly operState: string;
}
