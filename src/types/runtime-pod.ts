/** The sandboxes and containers of one pod in the runtime, with the states that the kubelet distinguishes. All times are Unix milliseconds. */

import type { ResourceRequirements } from './kubernetes.ts';

export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface RuntimeContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly state: RuntimeContainerState;
  readonly createdAt: number;
  /** 0: not yet. */
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** CRI's attempt: the number of earlier instances of this container. */
  readonly restartCount: number;
  readonly image: string;
  readonly imageRef: string;
  /** Hash of the container's spec when it was created; undefined when the label is missing. */
  readonly hash?: string;
  readonly podSandboxId: string;
  /** The devices with which it was created, as its annotation says; left out where there are none. */
  readonly devices?: string;
  /** Its postStart hook counts as completed only if the agent remembers that; left out for containers of other agents, and without a hook. */
  readonly recordsHook?: true;
  /** It runs, and its postStart hook has not completed: the pod's status does not count it as started. */
  readonly owesHook?: true;
  /** The resources that it got, when it was created or later; undefined where its agent did not record them. */
  readonly given?: GivenResources;
  /** The limits that the runtime reports; undefined where it reports none. */
  readonly limits?: RuntimeLimits;
  /** The user of its first process, where the runtime reports it. */
  readonly user?: RuntimeUser;
  /** Mount paths in the container that are read-only recursively; left out where there are none. */
  readonly recursiveReadOnlyMounts?: readonly string[];
  /** The runtime's names of images that are mounted as volumes; left out where there are none. */
  readonly mountedImages?: readonly string[];
}

/** What the node has granted a pod. */
export interface PodAllocation {
  /** By the name of the container: regular ones and init containers. */
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  /** Of the pod itself; undefined for a pod without `spec.resources`. */
  readonly pod?: ResourceRequirements | undefined;
}

/** CPU and memory, as the specs of a container and of its pod wrote them. */
export interface GivenResources {
  readonly container: ResourceRequirements;
  readonly pod?: ResourceRequirements | undefined;
  /** The runtime has got other values since, and did not confirm them: the container may have these as well. */
  readonly isUncertain?: true;
}

/** What cgroups enforce for a container. */
export interface RuntimeLimits {
  readonly cpuShares: number;
  /** Thousandths of a core; undefined without a limit. */
  readonly cpuLimitMilli?: number | undefined;
  /** Undefined without a limit. */
  readonly memoryLimitBytes?: number | undefined;
}

/** What only an agent knows of an instance of a container. */
export interface KnownContainer {
  /** Its postStart hook has completed. */
  readonly hooked?: boolean;
  /** The resources that updates have given it since it was created. */
  readonly given?: GivenResources;
  /** By its startup probe and its readiness probe. */
  readonly started?: boolean;
  readonly ready?: boolean;
}

export interface RuntimeUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups: readonly number[];
}

export interface RuntimeSandboxStatus {
  readonly id: string;
  readonly ready: boolean;
  readonly attempt: number;
  readonly createdAt: number;
  /** What the pod had been granted when it was made; undefined where its agent did not write that down. */
  readonly allocated?: PodAllocation;
  readonly networkMode: string;
  /** Undefined when the runtime did not report it, empty when there is none. */
  readonly ip?: string;
  /** All addresses, `ip` first; left out where there is none. */
  readonly ips?: readonly string[];
}

export interface RuntimePodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  /** For each container name: first what runs, then what has ended, newest first, then what was never started. */
  readonly containers: readonly RuntimeContainerStatus[];
  /** When the runtime was asked. */
  readonly observedAt: number;
}
