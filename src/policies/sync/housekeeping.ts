import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { isRunning } from '../cri/runtime-pod-status.ts';

/** What housekeeping has to know of a pod that has an actor. */
export interface KnownPod {
  readonly uid: string;
  readonly finished: boolean;
  readonly terminationRequested: boolean;
  readonly restartRequested: boolean;
}

export interface HousekeepingFacts {
  /** UIDs of the pods that the sources want on this node. */
  readonly desired: { has(uid: string): boolean; keys(): Iterable<string> };
  readonly known: Iterable<KnownPod>;
  readonly runtimePods: readonly RuntimePodStatus[];
}

export interface HousekeepingPlan {
  /** Finished, and either not desired any more or to be started again: what the runtime holds is removed, then the actor. */
  readonly retire: readonly string[];
  /** Running pods that no source wants. */
  readonly kill: readonly string[];
  /** Desired pods that have no actor. */
  readonly start: readonly string[];
  /** Pods that only the runtime knows, and of which something runs. */
  readonly killRuntimePods: readonly RuntimePodStatus[];
  /** Pods that only the runtime knows, and of which nothing runs. */
  readonly removeRuntimePods: readonly RuntimePodStatus[];
}

/** What housekeeping has to do about pods, once every source has been read (lifecycle, Housekeeping). */
export function planHousekeeping({ desired, known, runtimePods }: HousekeepingFacts): HousekeepingPlan {
  const uids = new Set<string>();
  const retire: string[] = [];
  const kill: string[] = [];
  for (const { uid, finished, terminationRequested, restartRequested } of known) {
    uids.add(uid);
    if (finished && (restartRequested || !desired.has(uid))) retire.push(uid);
    else if (!terminationRequested && !desired.has(uid)) kill.push(uid);
  }
  const start = [...desired.keys()].filter((uid) => !uids.has(uid));
  const wanted = (uid: string) => uids.has(uid) || desired.has(uid);
  const orphans = runtimePods.filter(({ uid }) => !wanted(uid));
  return {
    retire,
    kill,
    start,
    killRuntimePods: orphans.filter((pod) => isRunning(pod)),
    removeRuntimePods: orphans.filter((pod) => !isRunning(pod)),
  };
}
