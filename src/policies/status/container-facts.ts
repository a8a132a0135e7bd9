/** What container statuses are computed from. */
import type { Pod } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

/** Why a container could not be started the last time that it was tried. */
export interface StartFailure {
  /** `CrashLoopBackOff`, `ImagePullBackOff`, `CreateContainerConfigError`, … */
  readonly reason: string;
  readonly message: string;
}

export interface ContainerFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** By container name; without those that have been started since. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  /** All containers of the pod are being started over, in its sandbox (`shouldAllContainersRestart`). */
  readonly podRestarting: boolean;
  /** What goes before the `://` of a container's id. */
  readonly runtimeName: string;
}

export type ContainerKind = 'regular' | 'init' | 'ephemeral';
