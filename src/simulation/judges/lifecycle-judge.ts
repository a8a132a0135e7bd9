/** Compares what a simulated node does with the invariants of docs/lifecycle.md, at every step, by what really runs. */
import type { PodSnapshot } from '../../agent/actors/pods/pod-registry.ts';
import { stateName } from '../../agent/actors/transitions.ts';
import type { PodContext, PodEvent } from '../../agent/machines/pod-machine.ts';
import { isManifestPod } from '../../agent/policies/pod/pod-kinds.ts';
import type { CallUnderWay } from '../runtime/witness.ts';
import type { Violation } from '../history.ts';
import { EffectJudge, type EffectName } from './effect-judge.ts';
import { type EndOrders, inState, newProgress, type PodProgress } from './pod-progress.ts';
import {
  DRAINING,
  isBeforeStart,
  isEndingState,
  isPastSyncing,
  isStart,
  isTerminated,
  type RuntimeTruth,
} from './pod-states.ts';

export interface LifecycleJudgeOptions {
  readonly node: number;
  readonly truth: RuntimeTruth;
  readonly onViolation: (violation: Violation) => void;
}

/** No runtime is asked to stop a container faster. */
const LEAST_STOP_SECONDS = 2;
const RANKS: Readonly<Record<string, number>> = { Syncing: 0, Terminating: 1, Terminated: 2 };

/** Judges one agent from its start to its end. Calls of earlier agents do not count against it. */
export class LifecycleJudge {
  readonly #options: LifecycleJudgeOptions;
  readonly #connection: number;
  readonly #effects: EffectJudge;
  readonly #names: StaticNameJudge;
  readonly #byActor = new WeakMap<object, PodProgress>();
  /** By UID, the latest incarnation. */
  readonly #latest = new Map<string, PodProgress>();

  constructor(options: LifecycleJudgeOptions, connection: number) {
    this.#options = options;
    this.#connection = connection;
    this.#effects = new EffectJudge({
      truth: options.truth,
      isForeign: (call) => this.#isForeign(call),
      violated: (invariant, uid, what) => this.#violated(invariant, this.#subject(uid), what),
    });
    this.#names = new StaticNameJudge({
      stateOf: (uid) => this.#latest.get(uid)?.state ?? '',
      mayRun: (progress) => this.#mayRun(progress),
      violated: (progress, what) => this.#violated('I6', progress, what),
    });
  }

  /**
   * A pod's actor shows this snapshot after that event. Returns whether the state has changed. `actor` tells incarnations of
   * one UID apart.
   */
  onSnapshot(actor: object, snapshot: PodSnapshot, event: PodEvent): boolean {
    const progress = this.#progressOf(actor, snapshot);
    const before = progress.state;
    if (event.type === 'SyncPodCreate' && isPastSyncing(before)) progress.orders.again = true;
    else if (progress.rank < 2) progress.orders.take(event);
    this.#checkOrder(progress, snapshot);
    this.#names.onSnapshot(progress, snapshot);
    progress.state = stateName(snapshot.value);
    progress.hasSpec ||= snapshot.context.pod !== undefined;
    progress.hasStarted ||= progress.state === 'Syncing.Working';
    this.#checkGrace(progress, snapshot);
    this.#checkOrders(progress, snapshot);
    this.#effects.checkFits(progress);
    if (progress.state === 'Syncing.Settled') this.#checkSynced(progress, snapshot);
    if (event.type === 'STOP_FAILED') this.#effects.checkFailedStop(progress);
    return progress.state !== before;
  }

  /** The orders that the pod's actor got about its end; undefined for a pod without an actor. */
  ordersOf(uid: string): EndOrders | undefined {
    return this.#latest.get(uid)?.orders;
  }

  /** Whether the agent has let the pod start. */
  hasStarted(uid: string): boolean {
    return this.#latest.get(uid)?.hasStarted === true;
  }

  /** Whether the pod is Terminated for the agent. */
  hasEnded(uid: string): boolean {
    return isTerminated(this.#latest.get(uid)?.state ?? '');
  }

  /** Whether the agent ends the pod, and has not finished that. What comes late of a pod that has ended already does not count. */
  isEnding(uid: string): boolean {
    const { state = '', hasSpec = false } = this.#latest.get(uid) ?? {};
    return hasSpec && isEndingState(state);
  }

  /** Whether an abandoned call has started something of the pod that no effect has had the chance to see. */
  hasLateCall(uid: string): boolean {
    return this.#effects.hasLateCall(uid);
  }

  callBegan(call: CallUnderWay): void {
    if (call.connection !== this.#connection) return;
    const progress = this.#latest.get(call.uid);
    if (call.name === 'ListPodSandbox') this.#effects.read(call.uid);
    if (isStart(call.name)) this.#checkStart(call, progress);
    if (progress?.state.startsWith('Terminating') === true) this.#checkStop(call, progress);
  }

  /** Returns a function to call when the effect has ended. */
  effectBegins(name: EffectName, context: PodContext, signal: AbortSignal): () => void {
    const ended = this.#effects.begins(name, context, signal);
    const progress = this.#latest.get(context.uid);
    if (progress !== undefined) {
      if (name === 'syncPod') progress.synced = context.pod;
      this.#effects.checkFits(progress);
    }
    return ended;
  }

  /** A call about the pod failed or was not answered properly. */
  disturbed(uid: string): void {
    this.#effects.disturbed(uid);
  }

  /** An abandoned call about the pod has been carried out. */
  landedLate(uid: string): void {
    this.#effects.landedLate(uid);
  }

  /** I8: volumes are released only after Terminated. Before a pod starts, volumes of its earlier incarnation may be released. */
  volumesReleased(uid: string): void {
    const progress = this.#latest.get(uid);
    if (progress === undefined || isTerminated(progress.state) || !this.#mayRun(progress)) return;
    this.#violated('I8', progress, `its volumes are released ${inState(progress)}`);
  }

  /** Nothing may be mounted for a pod that is gone: nothing would release it. */
  volumesMounted(uid: string): void {
    const progress = this.#latest.get(uid);
    if (progress !== undefined && !isTerminated(progress.state)) return;
    this.#violated('I8', progress ?? { uid }, 'its volumes are mounted, and it is gone');
  }

  /** False for a pod whose end was requested before it was started, unless a container of it runs all the same. */
  #mayRun({ uid, hasStarted }: PodProgress): boolean {
    return hasStarted || this.#options.truth.isRunning(uid);
  }

  #progressOf(actor: object, { context: { uid, fullName } }: PodSnapshot): PodProgress {
    const known = this.#byActor.get(actor);
    if (known !== undefined) return known;
    const progress = newProgress(uid, fullName);
    const before = this.#latest.get(uid);
    // A UID gets another actor only when its actor is at its end or has failed.
    if (before !== undefined) this.#names.forget(before);
    this.#byActor.set(actor, progress);
    this.#latest.set(uid, progress);
    return progress;
  }

  /** The call was begun by an earlier agent, or has been abandoned. */
  #isForeign({ connection, abandoned }: CallUnderWay): boolean {
    return connection !== this.#connection || abandoned;
  }

  /** I2: calls that may start something are made only in Syncing, between the leave to start and the order to end. */
  #checkStart({ name, uid }: CallUnderWay, progress: PodProgress | undefined): void {
    const state = progress?.state ?? '';
    if (state.startsWith('Syncing') && !isBeforeStart(state) && state !== DRAINING) return;
    this.#violated('I2', this.#subject(uid), `${name} is issued ${inState(progress)}`);
  }

  /** I4, at the runtime: no container gets a longer grace period than the one in force. */
  #checkStop({ name, graceSeconds = 0 }: CallUnderWay, progress: PodProgress): void {
    if (graceSeconds <= Math.max(LEAST_STOP_SECONDS, progress.graceSeconds)) return;
    const what = `${name} grants ${graceSeconds} s where ${progress.graceSeconds} s are in force`;
    this.#violated('I4', progress, what);
  }

  /** I1: a pod moves forward only. */
  #checkOrder(progress: PodProgress, snapshot: PodSnapshot): void {
    const [state = ''] = Object.keys(snapshot.value);
    const rank = RANKS[state] ?? 0;
    if (rank < progress.rank) this.#violated('I1', progress, `${progress.state}, then ${state}`);
    if (rank > progress.rank) {
      this.#checkNothingStarts(progress, state);
      if (state === 'Terminated') this.#checkNothingRuns(progress);
    }
    progress.rank = rank;
  }

  #checkNothingStarts(progress: PodProgress, state: string): void {
    for (const call of this.#options.truth.inFlight(progress.uid)) {
      if (this.#isForeign(call) || !isStart(call.name)) continue;
      this.#violated('I2', progress, `${call.name} is in flight as the pod becomes ${state}`);
    }
  }

  #checkNothingRuns(progress: PodProgress): void {
    if (this.#effects.hasLateCall(progress.uid)) return;
    for (const { id, ready, containers } of this.#options.truth.sandboxesOf(progress.uid)) {
      if (ready) this.#violated('I3', progress, `sandbox ${id} is ready as the pod becomes Terminated`);
      for (const container of containers) {
        if (container.state !== 'CONTAINER_RUNNING') continue;
        this.#violated('I3', progress, `${container.metadata.name} runs as the pod becomes Terminated`);
      }
    }
  }

  #checkGrace(progress: PodProgress, { context: { gracePeriodSeconds = Infinity } }: PodSnapshot): void {
    const { graceSeconds } = progress;
    if (gracePeriodSeconds > graceSeconds) {
      this.#violated(
        'I4',
        progress,
        `the grace period grows from ${graceSeconds} s to ${gracePeriodSeconds} s`,
      );
    }
    progress.graceSeconds = gracePeriodSeconds;
  }

  /** All orders about the pod's end are in force (lifecycle 2, 4, 9). */
  #checkOrders(progress: PodProgress, { context }: PodSnapshot): void {
    if (progress.orders.again && !context.restartRequested)
      this.#violated('rule 9', progress, 'it is forgotten that the pod was asked for again');
    if (!isEndingState(progress.state)) return;
    const { gracePeriodSeconds = Infinity, evicted } = context;
    const { graceSeconds } = progress.orders;
    if (gracePeriodSeconds > graceSeconds) {
      const what = `the grace period is ${gracePeriodSeconds} s, though ${graceSeconds} s were asked for`;
      this.#violated('I4', progress, what);
    }
    if (gracePeriodSeconds < 1) this.#violated('rule 4', progress, 'the grace period is below 1 s');
    if (evicted !== progress.orders.evicted)
      this.#violated('rule 2', progress, 'it is forgotten that the pod was evicted');
  }

  /** The newest of several updates counts (lifecycle 2): a pod settles only after that one has been synced. */
  #checkSynced(progress: PodProgress, { context: { pod } }: PodSnapshot): void {
    if (progress.synced !== pod)
      this.#violated('rule 2', progress, 'settles, and its newest version is not synced');
  }

  #subject(uid: string): { readonly uid: string; readonly name?: string } {
    return this.#latest.get(uid) ?? { uid };
  }

  #violated(invariant: string, { name, uid }: { uid: string; name?: string }, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, uid, what, name });
  }
}

export interface StaticNameJudgeOptions {
  /** The state of the pod of that UID now; empty for a pod without an actor. */
  readonly stateOf: (uid: string) => string;
  /** Whether something of the pod runs, or may run because the pod was started. */
  readonly mayRun: (progress: PodProgress) => boolean;
  readonly violated: (progress: PodProgress, what: string) => void;
}

/** I6: of the full name of a manifest's pod, at most one incarnation is between its start and Terminated. */
class StaticNameJudge {
  readonly #options: StaticNameJudgeOptions;
  /** By full name, the UID of the pod between its start and Terminated. */
  readonly #started = new Map<string, string>();

  constructor(options: StaticNameJudgeOptions) {
    this.#options = options;
  }

  onSnapshot(progress: PodProgress, snapshot: PodSnapshot): void {
    const { uid, fullName } = progress;
    const { pod } = snapshot.context;
    if (pod === undefined || !isManifestPod(pod)) return;
    const isUnderWay = !snapshot.matches('Terminated') && !isBeforeStart(stateName(snapshot.value));
    const isStarted = isUnderWay && (snapshot.matches('Syncing') || this.#options.mayRun(progress));
    if (!isStarted) {
      this.forget(progress);
      return;
    }
    const other = this.#started.get(fullName);
    if (other === uid) return;
    if (other !== undefined) this.#checkEnded(progress, other);
    this.#started.set(fullName, uid);
  }

  /** The incarnation does not hold its name any more. */
  forget({ uid, fullName }: PodProgress): void {
    if (this.#started.get(fullName) === uid) this.#started.delete(fullName);
  }

  /** The end of the other pod allows this one to start. The other actor shows its end a microtask later. */
  #checkEnded(progress: PodProgress, other: string): void {
    queueMicrotask(() => {
      const state = this.#options.stateOf(other);
      if (isTerminated(state)) return;
      this.#options.violated(progress, `started while ${other} of the same name is in ${state}`);
    });
  }
}
