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
  LinuxContainerResources,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatus,
  RuntimeStatus,
  VersionResponse,
} from '../../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { CallOptions, StreamingRuntime } from './streaming-runtime.ts';

export type { CallOptions };

export interface RunPodSandboxOptions extends CallOptions {
  /** The handler of the pod's RuntimeClass. Default: the runtime's default handler. */
  readonly runtimeHandler?: string;
}

export interface ImageStatusOptions extends CallOptions {
  /** The pod's annotations: a runtime may use them to choose between images of one name. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface PullImageOptions extends CallOptions {
  readonly auth?: AuthConfig;
  /** The sandbox of the pod that wants the image. Its annotations are sent with the image's name. */
  readonly sandboxConfig?: PodSandboxConfig;
}

export interface CheckpointRequest {
  readonly containerId: string;
  /** The path of the archive that is to be written. */
  readonly location: string;
  /** 0: the usual time limit of calls. */
  readonly timeoutSeconds: number;
}

export interface StatusOptions extends CallOptions {
  readonly asksCgroupDriver?: boolean;
}

/** Changes of what runs already. */
export interface ResizingRuntime {
  updateContainerResources(
    containerId: string,
    resources: LinuxContainerResources,
    options?: CallOptions,
  ): Promise<void>;
  /** Tells the runtime what the agent is about to give the pod's cgroup. A runtime without such a call is not asked. */
  updatePodSandboxResources(
    podSandboxId: string,
    resources: Readonly<Record<'overhead' | 'resources', Partial<LinuxContainerResources>>>,
    options?: CallOptions,
  ): Promise<void>;
}

/**
 * A container runtime, with the names and the semantics of CRI's RuntimeService and ImageService. Every method rejects
 * with a `StateletError`; its `kind` says whether trying again can help. One contract suite
 * (`test/agent/runtime/runtime-contract.ts`) runs against every implementation.
 */
export interface RuntimeService {
  version(options?: CallOptions): Promise<VersionResponse>;
  status(options?: StatusOptions): Promise<RuntimeStatus>;

  /** Returns the sandbox's id. A second sandbox of the same metadata (attempt included) is `AlreadyExists`. */
  runPodSandbox(config: PodSandboxConfig, options?: RunPodSandboxOptions): Promise<string>;
  /** Ends all containers of the sandbox at once, then the sandbox. A second call and an unknown id are no errors. */
  stopPodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  /** Stops the sandbox if it runs, and removes it with its containers. An unknown id is no error. */
  removePodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  podSandboxStatus(podSandboxId: string, options?: CallOptions): Promise<PodSandboxStatus>;
  listPodSandbox(filter?: PodSandboxFilter, options?: CallOptions): Promise<readonly PodSandbox[]>;

  createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>;
  /** Resolves when the container's process runs. If it cannot be started, rejects and leaves the container exited. */
  startContainer(containerId: string, options?: CallOptions): Promise<void>;
  /**
   * Sends SIGTERM to the main process, and SIGKILL after `timeoutSeconds`. Resolves when no process of the container runs.
   * A container that has ended and an unknown id are no errors. A second call with a shorter timeout shortens the first.
   */
  stopContainer(containerId: string, timeoutSeconds: number, options?: CallOptions): Promise<void>;
  /** Kills the container if it runs, and removes it. An unknown id is no error. */
  removeContainer(containerId: string, options?: CallOptions): Promise<void>;
  listContainers(filter?: ContainerFilter, options?: CallOptions): Promise<readonly Container[]>;
  containerStatus(containerId: string, options?: CallOptions): Promise<ContainerStatus>;

  /**
   * Runs a command in the container. `timeoutSeconds` 0: no limit; past the limit it rejects with `DeadlineExceeded`. The
   * answer has the first `OUTPUT_BYTES_MAX` bytes of each output stream.
   */
  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<ExecSyncResponse>;
  listContainerStats(filter?: ContainerFilter, options?: CallOptions): Promise<readonly ContainerStats[]>;

  /** Hints that something happened to a container. They may be lost, repeated or late: read the state before acting. */
  containerEvents(): Observable<ContainerEvent>;

  /** Writes the memory and the changed files of a running container into an archive. Without it, the runtime cannot do that. */
  checkpointContainer?(request: CheckpointRequest, options?: CallOptions): Promise<void>;

  /** Opens the container's log file again, after it was renamed. */
  reopenContainerLog(containerId: string, options?: CallOptions): Promise<void>;

  /** Returns the reference by which the runtime knows the image. */
  pullImage(image: string, options?: PullImageOptions): Promise<string>;
  imageStatus(image: string, options?: ImageStatusOptions): Promise<Image | undefined>;
  listImages(options?: CallOptions): Promise<readonly Image[]>;
  removeImage(image: string, options?: CallOptions): Promise<void>;
  /** The file systems that hold images, and how much images use of them. */
  imageFsInfo(options?: CallOptions): Promise<readonly FilesystemUsage[]>;
  /** The file systems of containers' writable layers, if the runtime keeps them apart from images. */
  containerFsInfo?(options?: CallOptions): Promise<readonly FilesystemUsage[]>;

  /** Without it, what runs keeps the resources that it was started with. */
  readonly resizing?: ResizingRuntime;

  /** Without it, commands with streams are not supported. */
  readonly streaming?: StreamingRuntime;

  /** Closes the connection. Containers keep running. */
  close(): Promise<void>;
}

/** The runtime's answer; undefined if it is NotFound. */
export async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (errorKind(error) === 'NotFound') return undefined;
    throw error;
  }
}

/**
 * The message of a failed call, with gRPC's code as in the kubelet's events: people search for that text. Other errors, and
 * those whose message has an advice, keep their message.
 */
export function runtimeMessage(error: unknown): string {
  const message = errorMessage(error);
  if (!(error instanceof StateletError)) return message;
  const { kind, cause } = error;
  // An error whose kind says more than the runtime's code: people search for the runtime's code.
  if (cause instanceof StateletError && cause.message === message) return runtimeMessage(cause);
  const isAnswer = typeof cause === 'object' && cause !== null && 'details' in cause;
  return isAnswer && cause.details === message ? `rpc error: code = ${kind} desc = ${message}` : message;
}

export interface Watched {
  readonly stillMs: number;
  /** A number that changes with each sign of life, such as the bytes read so far. Without it, only the time counts. */
  readonly progress?: () => number;
  /** Whether this side makes the other one wait. */
  readonly isHeld?: () => boolean;
}

/**
 * Calls back once when there has been no progress for `stillMs`, unless this side makes the other one wait. Returns the function that ends the watch.
 */
export function onceStill({ stillMs, progress, isHeld }: Watched, callback: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const watch = (): void => {
    const before = progress?.();
    const look = (): void => {
      if (isHeld?.() === true || progress?.() !== before) watch();
      else callback();
    };
    // A busy machine may have stopped this process for that long: what has come meanwhile is read first.
    timer = setTimeout(() => (turn = setImmediate(look)), stillMs);
  };
  watch();
  return () => {
    clearTimeout(timer);
    clearImmediate(turn);
  };
}
