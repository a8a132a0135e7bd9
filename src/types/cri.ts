/**
 * The part of CRI (runtime.v1) that Statelet uses, by CRI's own names. Times are Unix nanoseconds as CRI has them,
 * held in a double: exact to about 256 ns. A field that a runtime cannot fill is left out.
 */

export type PodSandboxState = 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
export type ContainerStateName =
  'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';

export interface PodSandboxMetadata {
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly attempt: number;
}

export interface PodSandboxConfig {
  readonly metadata: PodSandboxMetadata;
  readonly hostname?: string;
  /** Folder of the pod's log files: `<podLogsDir>/<namespace>_<name>_<uid>`. */
  readonly logDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux?: {
    readonly securityContext?: { readonly namespaceOptions?: { readonly network?: NamespaceMode } };
  };
}

export interface PodSandbox {
  readonly id: string;
  readonly metadata: PodSandboxMetadata;
  readonly state: PodSandboxState;
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

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

export interface ContainerConfig {
  readonly metadata: ContainerMetadata;
  readonly image: { readonly image: string };
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir?: string;
  readonly envs: readonly KeyValue[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Relative to the sandbox's `logDirectory`: `<container>/<attempt>.log`. */
  readonly logPath: string;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
  readonly linux?: {
    readonly securityContext?: {
      readonly runAsUser?: number;
      readonly runAsGroup?: number;
    };
  };
}

export interface Container {
  readonly id: string;
  readonly podSandboxId: string;
  readonly metadata: ContainerMetadata;
  readonly image: string;
  readonly imageRef: string;
  readonly state: ContainerStateName;
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ContainerStatus extends Container {
  /** 0 while it has not happened. */
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  /** `Completed`, `Error`, `OOMKilled`, `StartError`, … in an exited container. */
  readonly reason: string;
  readonly message: string;
  readonly logPath: string;
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
  readonly size: number;
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
}
