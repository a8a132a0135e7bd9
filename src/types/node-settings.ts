/** Settings for real containers, by the kubelet's names. */
export interface NodeSettings {
  readonly imageServiceEndpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly nodeIP: readonly string[];
  readonly cgroupDriver: string;
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  /** -1: no limit. */
  readonly podPidsLimit: number;
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
