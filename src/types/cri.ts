/**
 * The part of CRI (runtime.v1) that Statelet uses, by CRI's own names. Times are Unix nanoseconds as CRI has them,
 * held in a double: exact to about 256 ns. A field that a runtime cannot fill is left out.
 */

/** Of a process that SIGKILL has ended: 128 and the number of the signal, as a shell says it. */
export const SIGKILL_EXIT_CODE = 137;

export type PodSandboxState = 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
export type ContainerStateName =
  | 'CONTAINER_CREATED'
  | 'CONTAINER_RUNNING'
  | 'CONTAINER_EXITED'
  | 'CONTAINER_UNKNOWN';

export interface PodSandboxMetadata {
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly attempt: number;
}

export interface DNSConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

/** Maps user or group IDs of a container to IDs of the node. */
export interface IDMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/** In mode NODE, the users of the pod are those of the node. */
export interface UserNamespace {
  readonly mode: NamespaceMode;
  readonly uids: readonly IDMapping[];
  readonly gids: readonly IDMapping[];
}

export interface NamespaceOption {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
  readonly usernsOptions?: UserNamespace;
  /** The container whose PID namespace is joined, where `pid` is TARGET. */
  readonly targetId?: string;
}

/** `localhostRef`: the absolute path of a seccomp profile, the name of an AppArmor one. */
export interface SecurityProfile {
  readonly profileType: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostRef: string;
}

export interface SELinuxOption {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

/** CRI's other fields are not used. 0: not set. */
export interface LinuxContainerResources {
  readonly cpuPeriod: number;
  readonly cpuQuota: number;
  readonly cpuShares: number;
  readonly memoryLimitInBytes: number;
  /** Memory and swap together, as in cgroup v1. */
  readonly memorySwapLimitInBytes?: number;
  readonly oomScoreAdj: number;
  /** CPUs and memory nodes: `0-3,7`. */
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limit: number }[];
  /** Keys of cgroup v2, such as `memory.high`. */
  readonly unified?: Readonly<Record<string, string>>;
}

export type SupplementalGroupsPolicy = 'Merge' | 'Strict';

export interface LinuxSandboxSecurityContext {
  readonly namespaceOptions: NamespaceOption;
  readonly selinuxOptions?: SELinuxOption;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  readonly privileged?: boolean;
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
}

export interface PodSandboxConfig {
  readonly metadata: PodSandboxMetadata;
  readonly hostname?: string;
  /** Folder of the pod's log files: `<podLogsDir>/<namespace>_<name>_<uid>`. */
  readonly logDirectory: string;
  /** Without it the runtime uses the node's configuration. */
  readonly dnsConfig?: DNSConfig;
  readonly portMappings?: readonly PortMapping[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux?: {
    /** The pod's cgroup, as the runtime's cgroup driver spells it. */
    readonly cgroupParent?: string;
    readonly securityContext?: LinuxSandboxSecurityContext;
    readonly sysctls?: Readonly<Record<string, string>>;
    readonly overhead?: Partial<LinuxContainerResources>;
    readonly resources?: LinuxContainerResources;
  };
}

export interface PodSandbox {
  readonly id: string;
  readonly metadata: PodSandboxMetadata;
  readonly state: PodSandboxState;
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler?: string;
}

export interface PodSandboxStatus extends PodSandbox {
  readonly network?: { readonly ip: string; readonly additionalIps?: readonly string[] };
  /** `linux.namespaces.options.network` of CRI. */
  readonly networkMode?: NamespaceMode;
}

export interface ContainerMetadata {
  readonly name: string;
  readonly attempt: number;
}

export interface KeyValue {
  readonly key: string;
  readonly value: string;
}

export type MountPropagation =
  | 'PROPAGATION_PRIVATE'
  | 'PROPAGATION_HOST_TO_CONTAINER'
  | 'PROPAGATION_BIDIRECTIONAL';

/** `image` is the runtime's name of it (an `imageRef`), `userSpecifiedImage` the name in the pod. */
export interface ImageSpec {
  readonly image: string;
  readonly userSpecifiedImage?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Mount {
  readonly containerPath: string;
  /** Empty for a mounted image. */
  readonly hostPath: string;
  readonly image?: ImageSpec;
  /** The path in the image, where only a part of it is mounted. */
  readonly imageSubPath?: string;
  readonly readonly: boolean;
  readonly recursiveReadOnly?: boolean;
  readonly selinuxRelabel?: boolean;
  readonly propagation: MountPropagation;
  /** For a pod with its own user namespace: the owners that the files appear to have. */
  readonly uidMappings?: readonly IDMapping[];
  readonly gidMappings?: readonly IDMapping[];
}

export interface Device {
  readonly containerPath: string;
  readonly hostPath: string;
  /** Of `r`, `w`, `m`. */
  readonly permissions: string;
}

export interface LinuxContainerSecurityContext {
  readonly capabilities?: {
    readonly addCapabilities: readonly string[];
    readonly dropCapabilities: readonly string[];
  };
  readonly privileged?: boolean;
  readonly namespaceOptions?: NamespaceOption;
  readonly selinuxOptions?: SELinuxOption;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsUsername?: string;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  readonly noNewPrivs?: boolean;
  readonly maskedPaths?: readonly string[];
  readonly readonlyPaths?: readonly string[];
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
  /** Deprecated: the same as `apparmor`, in the form of the annotation that it replaced. */
  readonly apparmorProfile?: string;
}

export interface ContainerConfig {
  readonly metadata: ContainerMetadata;
  readonly image: ImageSpec;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir?: string;
  readonly envs: readonly KeyValue[];
  readonly mounts?: readonly Mount[];
  readonly devices?: readonly Device[];
  /** Devices of the Container Device Interface. `name`: `vendor.com/gpu=gpu-1`. */
  readonly cdiDevices?: readonly { readonly name: string }[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Relative to the sandbox's `logDirectory`: `<container>/<attempt>.log`. */
  readonly logPath: string;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
  /** `SIGTERM` without it. */
  readonly stopSignal?: string;
  readonly linux?: {
    readonly resources?: LinuxContainerResources;
    readonly securityContext?: LinuxContainerSecurityContext;
  };
}

export interface Container {
  readonly id: string;
  readonly podSandboxId: string;
  readonly metadata: ContainerMetadata;
  readonly image: string;
  readonly imageRef: string;
  /** Set when the runtime has one that differs from `imageRef`. */
  readonly imageId?: string;
  readonly state: ContainerStateName;
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The user and groups of the first process of a container. */
export interface LinuxContainerUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups: readonly number[];
}

export interface ContainerStatus extends Container {
  /** 0 while it has not happened. */
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  /** `Completed`, `Error`, `OOMKilled`, `StartError`, … in an exited container. */
  readonly reason: string;
  /** The termination message of the container, or else the runtime's message about its end. */
  readonly message: string;
  readonly logPath: string;
  readonly mounts?: readonly Mount[];
  readonly user?: LinuxContainerUser;
  /** What the runtime has limited it to. */
  readonly resources?: { readonly linux?: LinuxContainerResources };
}

export interface PodSandboxFilter {
  readonly id?: string;
  readonly state?: PodSandboxState;
  readonly labelSelector?: Readonly<Record<string, string>>;
}

export interface ContainerFilter {
  readonly id?: string;
  readonly podSandboxId?: string;
  readonly state?: ContainerStateName;
  readonly labelSelector?: Readonly<Record<string, string>>;
}

export interface VersionResponse {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeApiVersion: string;
}

export interface RuntimeCondition {
  readonly type: 'RuntimeReady' | 'NetworkReady';
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RuntimeHandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** The name of the default handler is empty. */
export interface RuntimeHandler {
  readonly name: string;
  readonly features?: RuntimeHandlerFeatures;
}

export interface RuntimeCgroupDriver {
  readonly name: 'cgroupfs' | 'systemd';
  /** Whether the runtime says so itself (RuntimeConfig). Otherwise it was read from containerd's configuration. */
  readonly isReported: boolean;
}

export interface RuntimeStatus {
  /** Only where it was asked for, and is known. */
  readonly cgroupDriver?: RuntimeCgroupDriver;
  readonly conditions: readonly RuntimeCondition[];
  readonly handlers?: readonly RuntimeHandler[];
  /** Whether the runtime supports `supplementalGroupsPolicy: Strict`, which ignores the groups of the image; undefined: not reported. */
  readonly supplementalGroupsPolicy?: boolean;
}

export interface ExecSyncResponse {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number;
}

export type ContainerEventType =
  | 'CONTAINER_CREATED_EVENT'
  | 'CONTAINER_STARTED_EVENT'
  | 'CONTAINER_STOPPED_EVENT'
  | 'CONTAINER_DELETED_EVENT';

export interface ContainerEvent {
  readonly containerId: string;
  readonly containerEventType: ContainerEventType;
  readonly createdAt: number;
  readonly podSandboxMetadata: PodSandboxMetadata;
}

export interface Image {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests?: readonly string[];
  readonly size: number;
  /** The user of the image: its number, or its name if the image has only a name. */
  readonly uid?: number;
  readonly username?: string;
  /** The garbage collection never removes it. */
  readonly pinned?: boolean;
}

export interface AuthConfig {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly serverAddress?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

export interface FilesystemUsage {
  readonly timestamp: number;
  readonly mountpoint: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface ContainerStats {
  readonly attributes: {
    readonly id: string;
    readonly metadata: ContainerMetadata;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly cpu?: { readonly timestamp: number; readonly usageCoreNanoSeconds: number };
  readonly memory?: {
    readonly timestamp: number;
    readonly workingSetBytes: number;
    readonly rssBytes: number;
  };
  readonly processCount?: number;
  readonly writableLayer?: FilesystemUsage;
}
