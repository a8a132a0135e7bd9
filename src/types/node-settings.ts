import type { BuiltInSettings } from './built-in-thresholds.ts';
import type { Taint } from './kubernetes.ts';

/** Which pods have to show credentials for an image that is present. */
export type VerificationPolicy =
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

/** What the embedded runtime does with the volumes of pods: it mounts them, or runs the pods as if they had none. */
export const EMBEDDED_VOLUMES = ['mount', 'ignore'] as const;
export type EmbeddedVolumes = (typeof EMBEDDED_VOLUMES)[number];

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

/** CPUs that containers have for themselves, and where their devices and CPUs are. */
export interface ResourceManagerSettings {
  readonly cpuManagerPolicy: 'none' | 'static';
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly cpuManagerReconcilePeriodMs: number;
  /** `0-1`; empty: those of the lowest cores, as many as are reserved. */
  readonly reservedSystemCPUs: string;
  readonly topologyManagerPolicy: 'none' | 'best-effort' | 'restricted' | 'single-numa-node';
  readonly topologyManagerScope: 'container' | 'pod';
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
}

/** What no container gets of the memory of a NUMA node: quantities by `memory` or `hugepages-SIZE`. */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}

/** Memory that containers have on certain NUMA nodes. */
export interface MemoryManagerSettings {
  readonly memoryManagerPolicy: 'None' | 'Static';
  readonly reservedMemory: readonly MemoryReservation[];
}

/** Settings for real containers, by the kubelet's names. */
export interface NodeSettings
  extends MemorySettings, ReservedSettings, ResourceManagerSettings, MemoryManagerSettings {
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

/** Settings that decide which pods are admitted, by the kubelet's names where it has them. */
export interface AdmissionSettings {
  /** Quantities by resource: cpu, memory, ephemeral-storage, pid. */
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** 0: only `maxPods` counts. */
  readonly podsPerCore: number;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerWithTaints: readonly Taint[];
  /** Whole amounts by resource: `example.com/gpu`. */
  readonly extendedResources: Readonly<Record<string, string>>;
  /** Whether, of victims that are otherwise equal, pods of lower priority are preempted first. */
  readonly preemptionLowerPriorityFirst: boolean;
}

/** How the agent learns that a ConfigMap or a Secret has changed that a pod refers to. */
export const CHANGE_DETECTION_STRATEGIES = ['Watch', 'Cache', 'Get'] as const;

export type ChangeDetectionStrategy = (typeof CHANGE_DETECTION_STRATEGIES)[number];

/** Settings of a node that belongs to a cluster, by the kubelet's names. */
export interface ClusterSettings {
  /** Empty: the node belongs to no cluster. */
  readonly kubeconfig: string;
  /** Empty: there must be a kubeconfig. */
  readonly bootstrapKubeconfig: string;
  /** Empty: the folder `pki` in the root folder. */
  readonly certDir: string;
  readonly rotateCertificates: boolean;
  readonly serverTLSBootstrap: boolean;
  readonly registerNode: boolean;
  readonly registerSchedulable: boolean;
  readonly providerID: string;
  /** `external`, or empty. */
  readonly cloudProvider: string;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeStatusReportFrequencyMs: number;
  readonly nodeLeaseDurationSeconds: number;
  /** -1: no limit. */
  readonly nodeStatusMaxImages: number;
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  /** 0: no limit. */
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly configMapAndSecretChangeDetectionStrategy: ChangeDetectionStrategy;
}

/** How long a node that shuts down gives its pods, by the kubelet's names. */
export interface ShutdownSettings {
  /** All pods together; 0: the shutdown does not wait for pods. */
  readonly shutdownGracePeriodMs: number;
  /** The part of it that is kept for critical pods. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** In place of the two above. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPeriod[];
}

/** The time for the pods of this priority and above, up to the next period. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

/** Settings of the node's own server, by the kubelet's names. */
export interface ServerSettings {
  /** Whether there are `port` and `readOnlyPort` at all. */
  readonly enableServer: boolean;
  readonly address: string;
  /** Undefined: 10250 in a cluster, and no port outside one. 0: any free port. */
  readonly port: number | undefined;
  /** 0: none. */
  readonly readOnlyPort: number;
  /** Empty: the certificate is asked for at the API server, or signed by the agent itself. */
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** Go's name, such as `VersionTLS12`. Empty: TLS 1.2. */
  readonly tlsMinVersion: string;
  /** Go's names. Empty: OpenSSL's choice. */
  readonly tlsCipherSuites: readonly string[];
  /** Go's numbers. Empty: OpenSSL's choice. */
  readonly tlsCurvePreferences: readonly number[];
  /** Empty: no client certificate is asked for. */
  readonly clientCAFile: string;
  /** Whether the API server is asked whose a bearer token is. */
  readonly tokenWebhook: boolean;
  readonly tokenCacheTTLMs: number;
  readonly anonymousAuth: boolean;
  readonly authorizationMode: string;
  readonly authorizedTTLMs: number;
  readonly unauthorizedTTLMs: number;
  readonly enableDebuggingHandlers: boolean;
  /** 0: no limit. */
  readonly streamingConnectionIdleTimeoutMs: number;
  readonly enableSystemLogHandler: boolean;
  readonly enableSystemLogQuery: boolean;
  readonly enableProfilingHandler: boolean;
  readonly enableDebugFlagsHandler: boolean;
}

/** The kubelet's port. */
export const NODE_PORT = 10_250;

/** Who sends a request to the node's server, as a SubjectAccessReview names it. */
export interface ServerUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

type Texts = Readonly<Record<string, string>>;

/** The settings of eviction, by the kubelet's names. */
export interface EvictionConfiguration {
  /** By signal (`memory.available`), the quantity or percentage below which pods are evicted at once. */
  readonly evictionHard: Texts;
  /** The same for soft thresholds: pods are evicted when the signal has been below for its grace period. */
  readonly evictionSoft: Texts;
  /** Durations, by signal. */
  readonly evictionSoftGracePeriod: Texts;
  /** How much above the threshold the signal must be before eviction stops, by signal. */
  readonly evictionMinimumReclaim: Texts;
  /** By signal (`memory.pressure.full.avg10`), the percentage of the time that tasks wait above which pods are evicted. */
  readonly evictionPSI: Texts;
  /** How long it must be above that, by signal. Without it, pods are evicted at once. */
  readonly evictionPSIGracePeriod: Texts;
  /** The longest grace period of a pod that is evicted for a soft threshold, in seconds. */
  readonly evictionMaxPodGracePeriod: number;
  /** How long a pressure condition stays after the last time that its threshold was met. */
  readonly evictionPressureTransitionPeriodMs: number;
  /** Whether signals that are not in `evictionHard` keep their default thresholds. */
  readonly mergeDefaultEvictionSettings: boolean;
  /** Whether limits of local storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
}

/** How a pod that plugins have chosen is ended. */
export const POD_KILLERS = ['SyncPodKill', 'EvictionAPI', 'DeletionAPI'] as const;

export type PodKillerName = (typeof POD_KILLERS)[number];

/** The defaults are Katalyst's where it has the setting. */
export interface EvictionPluginSettings {
  /** Without it no plugin is loaded or asked. */
  readonly enabled: boolean;
  /** From one pass to the next. */
  readonly syncPeriodMs: number;
  /** How long a plugin has for an answer. */
  readonly timeoutMs: number;
  /** Names of plugins whose answers are counted and never acted on; `*` for all, `-NAME` for all but one. */
  readonly dryRun: readonly string[];
  /** Names of built-in plugins that are asked; written like `dryRun`. */
  readonly innerPlugins: readonly string[];
  /** How long a condition counts after it was last observed. */
  readonly conditionTransitionPeriodMs: number;
  /** At most so many pods are ended in one pass; below 0: all. */
  readonly evictionBurst: number;
  /** A pod with one of these annotations, or labels, is shown to no plugin. */
  readonly skippedAnnotations: readonly string[];
  readonly skippedLabels: readonly string[];
  /** By QoS level (`reclaimed_cores`); a level that is left out: the Eviction API for pods of the API server, `SyncPodKill` for others. */
  readonly killers: Readonly<Record<string, PodKillerName>>;
  /** The folder in which sockets of plugins appear. Empty: `plugins_registry` in the root folder. */
  readonly registryDir: string;
  /**
   * The kubeconfig of the user that writes conditions as taints, since a node may not change its own taints (NodeRestriction). Empty: the
   * node itself, which works where that admission plugin is off.
   */
  readonly taintsKubeconfig: string;
  /** A plugin that has not proved who it is by its token is not registered. */
  readonly strictAuthentication: boolean;
  /** The file with the users that may register plugins. Empty: no plugin is asked for a token. */
  readonly usersFile: string;
  /** Where pods that ask for notices of evictions have a folder each. Empty: they only get an event. */
  readonly noticesDir: string;
  /** Thresholds of the built-in plugins. */
  readonly builtIn: BuiltInSettings;
}
