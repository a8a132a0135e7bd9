/** Which pods have to show credentials for an image that is present. */
export type VerificationPolicy =
  'NeverVerify' | 'NeverVerifyPreloadedImages' | 'NeverVerifyAllowlistedImages' | 'AlwaysVerify';

/** Whether containers may use swap. Empty: as `NoSwap`. */
export type SwapBehavior = '' | 'NoSwap' | 'LimitedSwap';

/** Whether the kernel keeps the memory that pods request for them. */
export type MemoryReservationPolicy = 'None' | 'TieredReservation';

/** How the memory of containers is limited. */
export interface MemorySettings {
  /** Whether the kernel kills one process of a container that is out of memory, not all. Undefined: as the version of cgroups has it. */
  readonly singleProcessOOMKill: boolean | undefined;
  readonly swapBehavior: SwapBehavior;
  /** The feature gate of that name. */
  readonly memoryQoS: boolean;
  /** Which part of the way from its request to its limit a container may use before the kernel slows it down. */
  readonly memoryThrottlingFactor: number;
  readonly memoryReservationPolicy: MemoryReservationPolicy;
}

/** Which cgroups are limited to what is reserved. */
export interface ReservedSettings {
  /** `pods`, `kube-reserved`, `system-reserved`, each of these two with `-compressible` for CPU alone; or `none`. */
  readonly enforceNodeAllocatable: readonly string[];
  /** Of daemons of Kubernetes; empty: none. */
  readonly kubeReservedCgroup: string;
  /** Of other daemons; empty: none. */
  readonly systemReservedCgroup: string;
}

/** Settings for real containers, by the kubelet's names. */
export interface NodeSettings extends MemorySettings, ReservedSettings {
  readonly imageServiceEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly nodeIP: readonly string[];
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  /** The group that the agent joins; empty: it stays where it was started. */
  readonly kubeletCgroups: string;
  /** Groups whose figures the Summary has as `runtime` and `misc`; empty: none. */
  readonly runtimeCgroups: string;
  readonly systemCgroups: string;
  /** -1: no limit. */
  readonly podPidsLimit: number;
  /** How many user ids a pod with `hostUsers: false` has. */
  readonly idsPerPod: number;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodMs: number;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly seccompDefault: boolean;
  readonly allowedUnsafeSysctls: readonly string[];
  /** `NAME=HANDLER` each. */
  readonly runtimeClasses: readonly string[];
  readonly serializeImagePulls: boolean;
  /** 0: no limit. */
  readonly maxParallelImagePulls: number;
  /** 0: no limit. */
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  /** A file, or a folder of files, that names credential provider plugins; empty: there are none. */
  readonly imageCredentialProviderConfig: string;
  /** Where the programs of the plugins are. */
  readonly imageCredentialProviderBinDir: string;
  readonly imagePullCredentialsVerificationPolicy: VerificationPolicy;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly imageMinimumGCAgeMs: number;
  /** 0: images are not removed for their age. */
  readonly imageMaximumGCAgeMs: number;
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly containerLogMaxWorkers: number;
  readonly containerLogMonitorIntervalMs: number;
  readonly minimumContainerTTLMs: number;
  /** -1: no limit. */
  readonly maximumDeadContainersPerContainer: number;
  /** -1: no limit. */
  readonly maximumDeadContainers: number;
}
