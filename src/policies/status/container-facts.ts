/** What container statuses are computed from. */
import type { Pod } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

/** Why the last attempt to start a container failed. */
export interface StartFailure {
  /** `CrashLoopBackOff`, `ImagePullBackOff`, `CreateContainerConfigError`, … */
  readonly reason: string;
  readonly message: string;
}

export interface ContainerFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** By container name. A container that has been started since has no entry. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  /** All containers of the pod start over in the same sandbox (`shouldAllContainersRestart`). */
  readonly podRestarting: boolean;
  /** The part of a container's id before `://`. */
  readonly runtimeName: string;
}

export type ContainerKind = 'regular' | 'init' | 'ephemeral';
