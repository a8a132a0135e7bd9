/** Which pods have to show credentials for an image that is present. */
export type VerificationPolicy =
  'NeverVerify' | 'NeverVerifyPreloadedImages' | 'NeverVerifyAllowlistedImages' | 'AlwaysVerify';

/** Settings for real containers, by the kubelet's names. */
export interface NodeSettings {
  readonly imageServiceEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly nodeIP: readonly string[];
  readonly cgroupDriver: string;
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
