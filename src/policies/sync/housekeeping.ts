import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { isRunning } from '../status/runtime-pod-status.ts';

/** What housekeeping has to know of a pod that has an actor. */
export interface KnownPod {
  readonly uid: string;
  readonly finished: boolean;
  readonly terminationRequested: boolean;
  readonly restartRequested: boolean;
}

export interface HousekeepingFacts {
  /** UIDs that the sources want on this node. */
  readonly desired: { has(uid: string): boolean; keys(): Iterable<string> };
  readonly known: Iterable<KnownPod>;
  readonly runtimePods: readonly RuntimePodStatus[];
}

export interface HousekeepingPlan {
  /** Finished, and no longer desired or asked for again: what the runtime keeps of them goes, then the actor. */
  readonly retire: readonly string[];
  /** They run, and no source wants them. */
  readonly kill: readonly string[];
  /** Desired, and without an actor. */
  readonly start: readonly string[];
  /** Only the runtime knows them, and something of them runs. */
  readonly killRuntimePods: readonly RuntimePodStatus[];
  /** Only the runtime knows them, and they have ended. */
  readonly removeRuntimePods: readonly RuntimePodStatus[];
}

/** What is left to be done about pods, once every source has been seen (lifecycle, Housekeeping). */
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
