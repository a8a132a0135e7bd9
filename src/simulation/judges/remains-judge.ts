/** Judges that what is left of pods does not stay on a node, and that nothing of a pod is removed that is still needed. */
import type { PodSnapshot } from '../../agent/actors/pods/pod-registry.ts';
import { stateName } from '../../agent/actors/transitions.ts';
import { isBeforeStart, isPastSyncing } from './pod-states.ts';

/** An agent looks for remains in each housekeeping. After so many it must have begun a removal. */
const HOUSEKEEPINGS_MAX = 5;
/** A removal that has failed is tried again after a minute. */
const HOUSEKEEPINGS_BETWEEN_TRIES = 30;

export interface RemainsTruth {
  /** UIDs of the pods of which something is on the disk. */
  onDisk(): Iterable<string>;
  isWanted(uid: string): boolean;
  /** Whether the runtime has something of it. */
  isInRuntime(uid: string): boolean;
  /** Whether a call to the runtime about the pod is in flight, or one to a driver about anything. */
  isAskedAbout(uid: string): boolean;
  /** Whether an agent runs that knows all sources, and whose runtime answers. */
  isAtWork(): boolean;
  /** Of the pod's actor, if it has one. */
  snapshot(uid: string): PodSnapshot | undefined;
  /** Whether this agent has let the pod start. */
  hasStarted(uid: string): boolean;
  /** Whether the agent wants the pod, as far as it knows. */
  isDesired(uid: string): boolean;
}

export class RemainsJudge {
  readonly #truth: RemainsTruth;
  readonly #violated: (uid: string, what: string) => void;
  /** By UID, how many housekeepings may pass before the agent must work on the orphan. */
  readonly #patience = new Map<string, number>();

  constructor(truth: RemainsTruth, violated: (uid: string, what: string) => void) {
    this.#truth = truth;
    this.#violated = violated;
  }

  /** The agent has asked the runtime about the pod, as it does before a removal. Both may fail. */
  asked(uid: string): void {
    this.#patience.set(uid, HOUSEKEEPINGS_BETWEEN_TRIES + HOUSEKEEPINGS_MAX);
  }

  /** The agent removes the pod's folder. */
  removes(uid: string): void {
    const snapshot = this.#truth.snapshot(uid);
    if (snapshot === undefined) return;
    const state = stateName(snapshot.value);
    const isForgotten =
      state === 'Terminated.Finished' && (snapshot.context.restartRequested || !this.#truth.isDesired(uid));
    // A removal that began before the pod came again may go on while that one ends, which has not started.
    const endsUnstarted =
      isPastSyncing(state) && !this.#truth.hasStarted(uid) && !this.#truth.isInRuntime(uid);
    if (isBeforeStart(state) || isForgotten || endsUnstarted) return;
    this.#violated(uid, `its folder is removed in ${state}`);
  }

  /** To be called as often as an agent does its housekeeping. */
  housekeeping(): void {
    const orphans = new Set(Array.from(this.#truth.onDisk()).filter((uid) => this.#isOrphan(uid)));
    for (const uid of this.#patience.keys()) if (!orphans.has(uid)) this.#patience.delete(uid);
    const isAtWork = this.#truth.isAtWork();
    for (const uid of orphans) {
      if (this.#truth.isAskedAbout(uid)) {
        this.asked(uid);
        continue;
      }
      const before = this.#patience.get(uid) ?? HOUSEKEEPINGS_MAX;
      const left = isAtWork ? before - 1 : Math.max(before, HOUSEKEEPINGS_MAX);
      this.#patience.set(uid, left);
      if (left < 0) this.#violated(uid, 'nobody knows the pod, and its folder stays');
    }
  }

  #isOrphan(uid: string): boolean {
    const truth = this.#truth;
    if (truth.isWanted(uid) || truth.isInRuntime(uid)) return false;
    return truth.snapshot(uid) === undefined && !truth.isDesired(uid);
  }
}
