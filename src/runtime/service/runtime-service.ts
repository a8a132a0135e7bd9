import type { Observable } from 'rxjs';
import type {
  AuthConfig,
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerFilter,
  ContainerStats,
  ContainerStatus,
  ExecSyncResponse,
  FilesystemUsage,
  Image,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatus,
  RuntimeStatus,
  VersionResponse,
} from '../../types/cri.ts';

export interface CallOptions {
  /** Gives the call up. The runtime may still carry it out: who aborts must look before acting on the pod again. */
  readonly signal?: AbortSignal;
}

export interface RunPodSandboxOptions extends CallOptions {
  /** Of the pod's RuntimeClass; the runtime's default without it. */
  readonly runtimeHandler?: string;
}

export interface ImageStatusOptions extends CallOptions {
  /** Of the pod that wants the image: a runtime may choose by them among several of one name. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface PullImageOptions extends CallOptions {
  readonly auth?: AuthConfig;
  /** Of the pod that wants the image, whose annotations go with its name, too. */
  readonly sandboxConfig?: PodSandboxConfig;
}

/**
 * A container runtime, by the names and with the semantics of CRI's RuntimeService and ImageService. Every method
 * rejects with a `StateletError`; its `kind` says whether trying again can help. One contract suite
 * (`test/runtime/runtime-contract.ts`) runs against every implementation.
 */
export interface RuntimeService {
  version(options?: CallOptions): Promise<VersionResponse>;
  status(options?: CallOptions): Promise<RuntimeStatus>;

  /** Returns the sandbox's id. A second sandbox of the same metadata (attempt included) is `AlreadyExists`. */
  runPodSandbox(config: PodSandboxConfig, options?: RunPodSandboxOptions): Promise<string>;
  /** Ends all containers of the sandbox at once, then the sandbox. Repeating it, or an unknown id, is no error. */
  stopPodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  /** Stops the sandbox where needed and removes it with its containers. An unknown id is no error. */
  removePodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  podSandboxStatus(podSandboxId: string, options?: CallOptions): Promise<PodSandboxStatus>;
  listPodSandbox(filter?: PodSandboxFilter, options?: CallOptions): Promise<readonly PodSandbox[]>;

  createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>;
  /** Resolves once the container's process runs; rejects, and leaves it exited, when it cannot be started. */
  startContainer(containerId: string, options?: CallOptions): Promise<void>;
  /**
   * SIGTERM to its main process, then SIGKILL after `timeoutSeconds`; resolves when nothing of the container runs. A container that has
   * ended already, or an unknown id, is no error. A second call with a shorter timeout shortens the first.
   */
  stopContainer(containerId: string, timeoutSeconds: number, options?: CallOptions): Promise<void>;
  /** Kills the container where needed and removes it. An unknown id is no error. */
  removeContainer(containerId: string, options?: CallOptions): Promise<void>;
  listContainers(filter?: ContainerFilter, options?: CallOptions): Promise<readonly Container[]>;
  containerStatus(containerId: string, options?: CallOptions): Promise<ContainerStatus>;

  /**
   * Runs a command beside the container's own; `timeoutSeconds` 0 means no limit. Past it: kind `DeadlineExceeded`. Of what
   * the command writes to either stream the first `OUTPUT_BYTES_MAX` are answered.
   */
  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<ExecSyncResponse>;
  listContainerStats(filter?: ContainerFilter, options?: CallOptions): Promise<readonly ContainerStats[]>;

  /** Hints that something happened to a container. May lose, repeat or delay: whoever acts reads the state first. */
  containerEvents(): Observable<ContainerEvent>;

  /** Opens the container's log file anew, once it has been moved away. */
  reopenContainerLog(containerId: string, options?: CallOptions): Promise<void>;

  /** Returns the reference by which the runtime knows the image. */
  pullImage(image: string, options?: PullImageOptions): Promise<string>;
  imageStatus(image: string, options?: ImageStatusOptions): Promise<Image | undefined>;
  listImages(options?: CallOptions): Promise<readonly Image[]>;
  removeImage(image: string, options?: CallOptions): Promise<void>;
  /** Where images are kept, and how much they take. */
  imageFsInfo(options?: CallOptions): Promise<readonly FilesystemUsage[]>;
  /** Where the writable layers of containers are, of a runtime that knows of a place apart from that of images. */
  containerFsInfo?(options?: CallOptions): Promise<readonly FilesystemUsage[]>;

  /** Lets go of the connection. What runs keeps running. */
  close(): Promise<void>;
}
