/**
 * Thresholds of the built-in eviction plugins. All values are plain data. The reader of settings makes them from flags and from the object
 * `evictionPlugins` of the file, in which they are called as in `spec.config.evictionConfig` of Katalyst's AdminQoSConfiguration. So another
 * source of that object can be read by `resolveBuiltInSettings` as it is.
 *
 * Amounts that are texts are a quantity (`10Gi`) or a part of the whole (`10%`); an empty one is not compared. A grace period below 0 is the
 * pod's own.
 */

/** Factors by the name of the resource. */
export type Factors = Readonly<Record<string, number>>;

export interface ReclaimedResourcesSettings {
  /** A pod goes if requests are more than so many times what the node can give. Resources without a factor do not count. */
  readonly evictionThreshold: Factors;
  /** From here on, pods that ask for a notice get one. */
  readonly softEvictionThreshold: Factors;
  /** How long it must be too little before a pod goes. */
  readonly toleranceSeconds: number;
  readonly gracePeriodSeconds: number;
  /** Of these, no pod goes while the node can give nothing at all: that is rather a wrong figure. */
  readonly skippedAtZero: readonly string[];
}

export interface NumaMemorySettings {
  readonly isEnabled: boolean;
  /** Pods with a smaller part of a node's memory stay: their end would not help. */
  readonly smallestShare: number;
  /** Below `low` for more than so many questions: pods of `reclaimed_cores` go. */
  readonly timesReclaimed: number;
  /** For so many: any pod. */
  readonly timesAny: number;
  /** Below `min` any pod goes after so many more questions. */
  readonly fastTimes: number;
}

export interface SystemMemorySettings {
  readonly isEnabled: boolean;
  /** Pods of `reclaimed_cores` go if less is free than this, or than the distance between two watermarks. */
  readonly freeMinimumBytes: number;
  /** Any pod goes if kswapd has taken back so many pages a second for so long. */
  readonly kswapdPagesPerSecond: number;
  readonly kswapdDurationMs: number;
  /** In percent of the last ten seconds: some tasks waited for memory, and all tasks that were not idle did. */
  readonly somePercent: number;
  readonly fullPercent: number;
  /** After so long pods of `reclaimed_cores` go, after three times as long any pod. */
  readonly waitDurationMs: number;
  /** After an answer with pods no others are named for so long: memory comes back only once a pod has ended. */
  readonly coolDownMs: number;
}

export interface RssOveruseSettings {
  /** Otherwise only pods that name a factor of their own are looked at. */
  readonly allPods: boolean;
  /** Of pods that name none. */
  readonly factor: number;
  /** Only pods with these labels. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Of pods that go because memory is short. Those of `reclaimed_cores` can be started elsewhere: they have little time. */
export interface MemoryGraceSettings {
  readonly reclaimedGracePeriodSeconds: number;
  readonly gracePeriodSeconds: number;
}

export interface RootfsPressureSettings {
  readonly isEnabled: boolean;
  /** A pod goes while less than this is free where images and writable layers are. */
  readonly minimumFree: string;
  readonly minimumInodesFree: string;
  /** Pods that use less stay. */
  readonly podMinimumUsed: string;
  readonly podMinimumInodesUsed: string;
  /** Pods of `reclaimed_cores` that use more go before all others. */
  readonly reclaimedPriorityUsed: string;
  readonly reclaimedPriorityInodesUsed: string;
  /** Smaller file systems are left alone: on them little is free at all times. */
  readonly minimumCapacityBytes: number;
}

export interface RootfsOveruseSettings {
  readonly isEnabled: boolean;
  readonly qosLevels: readonly string[];
  readonly sharedThreshold: string;
  readonly reclaimedThreshold: string;
  /** Pods of `shared_cores` in other namespaces stay. */
  readonly sharedNamespaces: readonly string[];
  /** How many pods are named at most. */
  readonly count: number;
}

/** Of pods that go because of what they write. */
export interface RootfsGraceSettings {
  readonly gracePeriodSeconds: number;
}

export interface NicHealthSettings {
  readonly isEnabled: boolean;
  readonly toleranceMs: number;
  readonly gracePeriodSeconds: number;
}

export interface CpuLoadSettings {
  readonly isEnabled: boolean;
  /** Times the number of CPUs: a pod goes above it, and the node is tainted above the lower one. */
  readonly upperBoundRatio: number;
  readonly lowerBoundRatio: number;
  /** In which part of the readings the load must be above a bound. */
  readonly metPercentage: number;
  /** How many readings count. */
  readonly ringSize: number;
  readonly coolDownMs: number;
  /** Readings are at least so far apart. */
  readonly syncPeriodMs: number;
}

export interface CpuSuppressionSettings {
  readonly isEnabled: boolean;
  /** No pod tolerates that requests are more times what can be given. */
  readonly maxToleranceRate: number;
  readonly minToleranceMs: number;
}

/** Of pods that go because of load or suppression. */
export interface CpuGraceSettings {
  readonly gracePeriodSeconds: number;
}

export interface NumaCpuSettings {
  readonly isEnabled: boolean;
  /** Of the processor time of a NUMA node; times `expandFactor` it is the threshold. */
  readonly usageRatio: number;
  readonly expandFactor: number;
  readonly metPercentage: number;
  readonly ringSize: number;
  /** Pods that belong to such a kind stay. */
  readonly skippedPodKinds: readonly string[];
  readonly gracePeriodSeconds: number;
}

/** Parts of 1. */
export interface NumaSysCpuSettings {
  readonly isEnabled: boolean;
  /** Of the processor time of a NUMA node: above the soft one the node is tainted, above the hard one a pod goes. */
  readonly softUsage: number;
  readonly hardUsage: number;
  /** Of what is used, that which the kernel uses. Both must be above it. */
  readonly softSystemShare: number;
  readonly hardSystemShare: number;
  /** Pods with a smaller part of their own stay. */
  readonly evictionSystemShare: number;
  readonly metPercentage: number;
  readonly ringSize: number;
  /** Readings are at least so far apart. */
  readonly syncPeriodMs: number;
  readonly gracePeriodSeconds: number;
}

export interface BuiltInSettings {
  readonly reclaimedResources: ReclaimedResourcesSettings;
  readonly numaMemory: NumaMemorySettings;
  readonly systemMemory: SystemMemorySettings;
  readonly rssOveruse: RssOveruseSettings;
  readonly memoryGrace: MemoryGraceSettings;
  readonly rootfsPressure: RootfsPressureSettings;
  readonly rootfsOveruse: RootfsOveruseSettings;
  readonly rootfsGrace: RootfsGraceSettings;
  readonly nicHealth: NicHealthSettings;
  readonly cpuLoad: CpuLoadSettings;
  readonly cpuSuppression: CpuSuppressionSettings;
  readonly cpuGrace: CpuGraceSettings;
  readonly numaCpu: NumaCpuSettings;
  readonly numaSysCpu: NumaSysCpuSettings;
}
