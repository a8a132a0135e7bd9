/** Which pods hold resources of a simulated node, by what the pods' actors show and the runtime knows. */
import type { PodSnapshot } from '../../agent/actors/pods/pod-registry.ts';
import { stateName } from '../../agent/actors/transitions.ts';
import { isCriticalPriority, isMirrorPod, isStaticPod } from '../../agent/policies/pod/pod-kinds.ts';
import { effectiveGracePeriodSeconds } from '../../agent/policies/termination/pod-termination.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { isBeforeStart, isEndingState, isPastSyncing, isTerminated, NEW } from './pod-states.ts';

/** The agent waits for the end of a victim 1.5 times its grace period, and at least this long. */
const LEAST_PATIENCE_MS = 10_000;
const PATIENCE_FACTOR = 1.5;

/** One incarnation of a pod. */
export interface PodRecord {
  readonly uid: string;
  readonly actor: object;
  /** The newest version that its actor got; undefined for a pod that only the runtime knows. */
  pod: Pod | undefined;
  state: string;
  /** This agent has admitted it. */
  isAdmitted: boolean;
  /** Something of it ran before this agent came, or was started by an abandoned call. */
  mayRunUnadmitted: boolean;
  /** When it was told to end, Unix ms. */
  endingSince: number | undefined;
  graceSeconds: number;
  /** It is Terminated, and all other actors know that. */
  isGone: boolean;
  /** It was told to end to make room for another pod. */
  isPreempted: boolean;
  /** If it was evicted: the signal of the resource that was short, or of the limit that it exceeded. */
  evictedFor: string | undefined;
  /** If it was rejected: the reason. */
  rejection: string | undefined;
}

export interface PodRecordsOptions {
  readonly now: () => number;
  readonly isRunning: (uid: string) => boolean;
  /** UIDs of the pods that ran when the agent started. */
  readonly found: Iterable<string>;
}

export class PodRecords {
  readonly #options: PodRecordsOptions;
  readonly #latest = new Map<string, PodRecord>();
  /** UIDs of pods of which something runs that this agent did not start, or does not know of. */
  readonly #unadmitted: Set<string>;

  constructor(options: PodRecordsOptions) {
    this.#options = options;
    this.#unadmitted = new Set(options.found);
  }

  get(uid: string): PodRecord | undefined {
    return this.#latest.get(uid);
  }

  /** A pod's actor shows this snapshot. */
  update(actor: object, snapshot: PodSnapshot): PodRecord {
    const { uid, pod, gracePeriodSeconds } = snapshot.context;
    const record = this.#record(actor, uid);
    const state = stateName(snapshot.value);
    record.pod = pod;
    record.graceSeconds = gracePeriodSeconds ?? effectiveGracePeriodSeconds(undefined, pod);
    if (isEndingState(state)) record.endingSince ??= this.#options.now();
    if (isTerminated(state) && !isTerminated(record.state)) this.#ended(record);
    record.state = state;
    return record;
  }

  /** An abandoned call has started something of the pod. */
  landedLate(uid: string): void {
    this.#unadmitted.add(uid);
    const record = this.#latest.get(uid);
    if (record !== undefined) record.mayRunUnadmitted = true;
  }

  /** All pods that certainly hold resources. */
  holders(): readonly PodRecord[] {
    return this.known().filter(({ isAdmitted, state }) => isAdmitted && !isTerminated(state));
  }

  /** All pods that the agent may count as holders: also pods that it found running, and pods that are ending. */
  possibleHolders(): readonly PodRecord[] {
    return this.known().filter(
      ({ isAdmitted, mayRunUnadmitted, state }) => isAdmitted || mayRunUnadmitted || !isBeforeStart(state),
    );
  }

  /** The pod has been ending for longer than preemptors and evictions wait for it. */
  isOverdue({ endingSince, graceSeconds }: PodRecord): boolean {
    return endingSince !== undefined && this.#options.now() >= endingSince + patienceMs(graceSeconds);
  }

  /** All pods that have an actor, and are not gone. */
  known(): readonly PodRecord[] {
    return [...this.#latest.values()].filter(({ isGone, pod }) => !isGone && pod !== undefined);
  }

  #record(actor: object, uid: string): PodRecord {
    const known = this.#latest.get(uid);
    if (known?.actor === actor) return known;
    const record: PodRecord = {
      uid,
      actor,
      pod: undefined,
      state: NEW,
      isAdmitted: false,
      mayRunUnadmitted: this.#unadmitted.has(uid) || this.#options.isRunning(uid),
      endingSince: undefined,
      graceSeconds: 0,
      isGone: false,
      isPreempted: false,
      evictedFor: undefined,
      rejection: undefined,
    };
    this.#latest.set(uid, record);
    return record;
  }

  /** The other actors react to an end before the next microtask. */
  #ended(record: PodRecord): void {
    this.#unadmitted.delete(record.uid);
    queueMicrotask(() => (record.isGone = true));
  }
}

export function patienceMs(graceSeconds: number): number {
  return Math.max(LEAST_PATIENCE_MS, PATIENCE_FACTOR * graceSeconds * 1000);
}

export function isEndingOrEnded({ state }: PodRecord): boolean {
  return isPastSyncing(state);
}

/** Static, mirror and critical pods are never evicted. */
export function isNeverEvicted({ pod }: PodRecord): boolean {
  return pod !== undefined && (isStaticPod(pod) || isMirrorPod(pod) || isCriticalPriority(priorityOf(pod)));
}

export function priorityOf(pod: Pod | undefined): number {
  return pod?.spec.priority ?? 0;
}

/** The pods of the records, without those that only the runtime knows. */
export function podsOf(records: readonly PodRecord[]): readonly Pod[] {
  return records.flatMap(({ pod }) => pod ?? []);
}
