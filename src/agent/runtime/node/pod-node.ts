import { RejectedError, type Rejection } from '../../policies/admission/rejection.ts';
import type { CgroupDriverName } from '../../policies/cgroups/cgroup-names.ts';
import type { ContainerAdditions } from '../../policies/cri/container-config.ts';
import type { SandboxFacts } from '../../policies/cri/sandbox-config.ts';
import type { ResizeActions } from '../../policies/resize/resize-actions.ts';
import type { ImageErrorReason } from '../../policies/images/image-pull.ts';
import type { ContainerConfig, KeyValue, PodSandboxConfig } from '../../../types/cri.ts';
import { type ErrorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { InfeasibleReason } from '../../../types/measurements.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type {
  KnownContainer,
  PodAllocation,
  RuntimeContainerStatus,
  RuntimePodStatus,
} from '../../../types/runtime-pod.ts';
import type { CpuAssignments } from '../cpus/cpu-manager.ts';
import type { HeldMemoryBlocks } from '../memory-manager/memory-manager.ts';
import type { CsiNode } from '../volumes/csi/csi-node.ts';
import type { DeviceManager } from '../devices/device-manager.ts';
import type { DraNode } from '../dra/dra-node.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

export interface ImageInUse {
  /** The runtime's id of the image. */
  readonly imageRef: string;
  /** The user that the image names, by number or by name. */
  readonly uid?: number;
  readonly username?: string;
  /** The runtime's ids of the images that the container mounts as volumes, by the names of the volumes. */
  readonly volumes?: ReadonlyMap<string, string>;
}

export interface SandboxRequest {
  readonly config: PodSandboxConfig;
  readonly runtimeHandler?: string;
}

export interface ContainerRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly attempt: number;
  /** Contains the sandbox in which the container is to run. */
  readonly podStatus: RuntimePodStatus;
  readonly image: ImageInUse;
}

export interface SandboxAdditions extends Pick<SandboxFacts, 'dns' | 'cgroupParent' | 'hasOwnCpus'> {
  readonly groups?: readonly number[];
}

/** How the kubelet's messages begin. */
const WHAT_FAILED: Readonly<Record<PrepareError['reason'], string>> = {
  FailedMount: '',
  FailedCreatePodContainer: 'unable to ensure pod container exists: ',
  FailedPrepareDynamicResources: 'Failed to prepare dynamic resources: ',
};

/** The node cannot be made ready for a pod. `reason` is the reason of the pod's event. */
export class PrepareError extends Error {
  readonly reason: 'FailedMount' | 'FailedCreatePodContainer' | 'FailedPrepareDynamicResources';
  /** Whether the pod has an event about it already. */
  readonly hasEvent: boolean;
  /** Trying again cannot help: the pod is to fail. */
  readonly rejection: Rejection | undefined;

  constructor(reason: PrepareError['reason'], cause: unknown, hasEvent = false) {
    super(`${WHAT_FAILED[reason]}${errorMessage(cause)}`, { cause });
    this.reason = reason;
    this.hasEvent = hasEvent;
    this.rejection = cause instanceof RejectedError ? cause.rejection : undefined;
  }
}

/** Runs a step of `prepare`, and names the event for when it fails. */
export async function orPrepareError(
  reason: PrepareError['reason'],
  step: () => Promise<void>,
): Promise<void> {
  try {
    await step();
  } catch (error) {
    throw new PrepareError(reason, error);
  }
}

/** Undefined: the pod is admitted. A promise only where the answer takes time: a pod that need not wait starts at once. */
export type PodAdmission = Rejection | undefined | Promise<Rejection | undefined>;

/** Which pods a search for what is on the node finds. */
export interface PodSearch {
  /** Pods that are left out. */
  readonly isKnown: (uid: string) => boolean;
  /** Whether to look everywhere. Otherwise only where it takes a moment: a search that is made every two seconds. */
  readonly isThorough: boolean;
}

/**
 * One part of the node: what it does at each step of a pod's life. All hooks may be left out. `composeNode` makes a `PodNode` of a
 * list of them, and says in which order they are called.
 */
export interface PodSubsystem {
  readonly name: string;
  /** Fields of the pod that have no effect here, by path. */
  unsupportedFields?(pod: Pod): readonly string[];
  /**
   * Whether the pod may run here, before the node decides whether it has room for it; of a pod that runs already, whether it may stay. The
   * pod is in state Admitting meanwhile. It is asked again whenever the pod asks for room again. What it has set aside for a pod that does not
   * start is taken back by `withdraw`. `signal` aborts when the answer does not matter any more: nothing is set aside after that.
   */
  admit?(pod: Pod, signal: AbortSignal): PodAdmission;
  /**
   * Nothing of the pod runs, and nothing will unless it is admitted again: what `admit` has set aside is free when this returns. Returns
   * whether there was any. `release` comes later, when what the pod had on the disk is gone.
   */
  withdraw?(uid: string): boolean;
  /**
   * Before anything of the pod is started, and on every sync. `isResizing`: containers do not have the resources yet that are allocated to the pod.
   * Rejects with a PrepareError.
   */
  prepare?(pod: Pod, signal: AbortSignal, isResizing?: boolean): Promise<void>;
  /** What the pod's sandbox has of this part. `groups` are those of its containers, too. */
  sandbox?(pod: Pod): SandboxAdditions | Promise<SandboxAdditions>;
  /**
   * What it adds to the configuration of a container that is about to be created. `envs`: the container's variables, with what parts
   * before it in the list have added. As with the kubelet, this comes before the configuration is made: what is prepared here is also
   * there for a container that is refused then. Rejects where there can be no such container (CreateContainerConfigError).
   */
  container?(request: ContainerRequest, envs: readonly KeyValue[]): Promise<ContainerAdditions>;
  /** A container has been created: its image is there, and its log will be. */
  created?(pod: PodReference, containerId: string, config: ContainerConfig, logDirectory: string): void;
  /**
   * A container that was created earlier, perhaps by another agent and with other resources than this configuration has, is about to be
   * started.
   */
  reused?(pod: PodReference, containerId: string, config: ContainerConfig, logDirectory: string): void;
  /** An instance of a container is about to be removed: removes what the instance has left, such as its log. */
  removing?(pod: PodReference, container: RuntimeContainerStatus): Promise<void>;
  /** The runtime does not have the image any more. */
  forgetImage?(image: string): void;
  /** After Terminated: takes away what `prepare` has made. Is called again when it, or another subsystem, has failed. */
  release?(uid: string): Promise<void>;
  /** The pod is being forgotten: nothing of it may be left. Without this hook `release` is called. */
  remove?(pod: PodReference): Promise<void>;
  /** The pods of which this part has something. `recorded`: the UIDs that parts before it in the list have named. */
  podsOnDisk?(search: PodSearch, recorded: ReadonlySet<string>): Promise<readonly PodReference[]>;
  collectGarbage?(): void;
}

export interface InfeasibleResize {
  /** The kubelet's name of the reason. */
  readonly detail: InfeasibleReason;
  readonly message: string;
}

/** Changes the CPU and memory of pods that run. */
export interface Resizer {
  /** What a resize has granted the pod, under this agent or a former one; undefined where there was none. */
  allocation(uid: string): PodAllocation | undefined;
  /** Remembers it until the pod is removed. */
  allocate(uid: string, allocation: PodAllocation): Promise<void>;
  /** Why the pod can never be resized so on this node, if so. */
  refusal(desired: Pod, allocated: Pod): InfeasibleResize | undefined;
  /** Resolves to why it ended before all was done, if so. A next call goes on from there. */
  resize(request: ResizeRequest, signal: AbortSignal): Promise<string | undefined>;
}

export interface ResizeRequest {
  /** As allocated. */
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  readonly sandboxId: string;
  readonly actions: ResizeActions;
}

/** What containers are made from, and what is known of them: each question is answered by one part of the node. */
export interface PodDetails {
  /**
   * When the pod first started on this node, under this agent or a former one. Where that is not known it is `now` (RFC 3339 in whole
   * seconds), which is remembered until the pod is removed.
   */
  startTime(uid: string, now: string): Promise<string>;
  /** Reads what an agent has remembered of the pod's containers, once. */
  recallContainers(uid: string): void;
  /** Undefined where nothing was recalled or remembered of the pod. */
  knownContainer(uid: string, containerId: string): KnownContainer | undefined;
  /** Remembers it until the pod is removed. Resolves when a next agent will know it too, or cannot. */
  rememberContainer(uid: string, containerId: string, known: KnownContainer): Promise<void>;
  /** `isNew`: the sandbox is to be created. Rejects where it cannot be, for example for want of the pod's RuntimeClass. */
  sandbox(pod: Pod, attempt: number, isNew: boolean): Promise<SandboxRequest>;
  /** Makes sure that the image is there. Rejects with an ImageError. */
  image(
    pod: Pod,
    container: Container | EphemeralContainer,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<ImageInUse>;
  /** Rejects where the container's spec, or what it refers to, makes no container (CreateContainerConfigError). */
  container(request: ContainerRequest): Promise<ContainerConfig>;
  /** Without it, pods keep the CPU and memory that they were started with. */
  readonly resizer?: Resizer | undefined;
  /** How many instances of the container there have been, as far as their logs still show it. */
  pastInstances(pod: PodReference, containerName: string): number;
  /** Where the pod is reached from this node; undefined while it has no network. */
  podIP(pod: Pod, podStatus: RuntimePodStatus): string | undefined;
}

/** What a node does for its pods beside the runtime: the hooks of all its subsystems, and the details. */
export interface PodNode
  extends PodDetails, Required<Omit<PodSubsystem, 'name' | 'podsOnDisk' | 'sandbox' | 'container'>> {
  /** The pods of which something is on this node; name and namespace are empty where only the UID is known. */
  podsOnDisk(search: PodSearch): Promise<readonly PodReference[]>;
}

/** What background work needs to know of the pods. */
export interface NodeView {
  /** The pods that the runtime has, as last read. */
  readonly pods: () => Iterable<RuntimePodStatus>;
  /** The pod's containers are not needed any more. */
  readonly isPodRemovable: (uid: string) => boolean;
  /** Nothing of the pod will run any more: its containers are needed at most for what they have left. */
  readonly isPodTerminated: (uid: string) => boolean;
}

/** Removes what is not needed where the node runs short of disk. Both reject when something could not be removed. */
export interface NodeReclaimer {
  deleteDeadContainers(): Promise<void>;
  deleteUnusedImages(): Promise<void>;
}

/** A runtime with the node around it. */
export interface NodeParts {
  readonly runtime: RuntimeService;
  readonly node: PodNode;
  /** Undefined where pods can have no devices. */
  readonly devices?: DeviceManager;
  /** What the claim of a pod's volume leads to, as far as that is known. */
  readonly claimedVolume?: VolumeManager['claimed'];
  /** Undefined where no CSI driver can serve this node. */
  readonly csi?: CsiNode | undefined;
  /** Undefined where no DRA driver can serve this node. */
  readonly dra?: DraNode | undefined;
  /** Undefined where no container has CPUs for itself. */
  readonly cpus?: CpuAssignments | undefined;
  /** Undefined where no memory of NUMA nodes is kept for containers. */
  readonly memory?: HeldMemoryBlocks | undefined;
  /** With which driver the cgroups of pods are made now; undefined where pods have none. */
  readonly cgroupDriver?: () => CgroupDriverName;
  /** The group that has `kubepods` below it, where it is not the configured one. */
  readonly cgroupRoot?: string | undefined;
  /** Begins the background work: rotation of logs, garbage collection. */
  start(view: NodeView): void;
  /** Only of a node that keeps dead containers or images; to be used after `start`. */
  readonly reclaimer?: NodeReclaimer;
  /** Ends the background work. Pods keep running. */
  stop(): Promise<void>;
}

/** Why a container has no image: the reason and the message of the container's waiting state. */
export class ImageError extends StateletError {
  readonly reason: ImageErrorReason;
  /** When to try again (Unix ms), where that is known. */
  readonly retryAt?: number;

  constructor(
    reason: ImageErrorReason,
    message: string,
    options: { kind: ErrorKind; cause?: unknown; retryAt?: number },
  ) {
    super(options.kind, message, { cause: options.cause });
    this.name = 'ImageError';
    this.reason = reason;
    if (options.retryAt !== undefined) this.retryAt = options.retryAt;
  }
}
