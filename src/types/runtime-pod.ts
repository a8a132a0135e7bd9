/** What a runtime holds of one pod, in the terms in which the kubelet decides. All times are Unix milliseconds. */

export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface RuntimeContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly state: RuntimeContainerState;
  readonly createdAt: number;
  /** 0 while it has not happened. */
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** CRI's attempt: how many instances of this container came before. */
  readonly restartCount: number;
  readonly image: string;
  readonly imageRef: string;
  /** Hash of the container's spec when it was created; undefined when the label is missing. */
  readonly hash?: string;
  readonly podSandboxId: string;
  /** As whom it was started, where the runtime says so. */
  readonly user?: RuntimeUser;
  /** Paths in the container that are read-only with all that is mounted below them; left out where there are none. */
  readonly recursiveReadOnlyMounts?: readonly string[];
  /** What the runtime calls the images that are mounted as volumes; left out where there are none. */
  readonly mountedImages?: readonly string[];
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
  readonly networkMode: string;
  /** undefined where the runtime did not say, empty where there is none. */
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
  /** Within one container name: what runs, then what has ended, newest first, then what was never started. */
  readonly containers: readonly RuntimeContainerStatus[];
  /** When the runtime was asked. */
  readonly observedAt: number;
}
