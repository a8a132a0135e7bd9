/** Holds what a simulated node does against the invariants of docs/lifecycle.md, at every step, by the runtime's own truth. */
import type { PodEffects } from '../../actors/pods/pod-actor.ts';
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';
import type { PodContext, PodEvent } from '../../machines/pod-machine.ts';
import { isStaticPod } from '../../policies/pod/pod-kinds.ts';
import type { CallName } from '../../runtime/simulated/latencies.ts';
import type { CallUnderWay, ContainerTruth, SandboxTruth } from '../../runtime/simulated/witness.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { EndOrders } from './end-orders.ts';
import type { Subject } from './history.ts';
import { AWAITING_START, DRAINING, isEndingState, stateName } from './pod-states.ts';

export interface Violation extends Subject {
  readonly invariant: string;
  readonly what: string;
}

/** What the judge has to know of the runtime. */
export interface RuntimeTruth {
  sandboxesOf(uid: string): Iterable<SandboxTruth>;
  inFlight(uid: string): readonly CallUnderWay[];
  isRunning(uid: string): boolean;
}

export interface JudgeOptions {
  readonly node: number;
  readonly truth: RuntimeTruth;
  readonly onViolation: (violation: Violation) => void;
}

const STARTS: ReadonlySet<CallName> = new Set(['RunPodSandbox', 'CreateContainer', 'StartContainer']);
/** No runtime is asked to stop a container faster. */
const LEAST_STOP_SECONDS = 2;
const RANKS: Readonly<Record<string, number>> = { Syncing: 0, Terminating: 1, Terminated: 2 };

/** How far a pod actor has come. */
interface Course {
  readonly uid: string;
  readonly name: string;
  readonly fullName: string;
  rank: number;
  graceSeconds: number;
  /** `Syncing.Working`. */
  state: string;
  /** It was given leave to start. */
  hasStarted: boolean;
  readonly orders: EndOrders;
  /** What the last sync looked at. */
  synced: Pod | undefined;
}

export type EffectName = Exclude<keyof PodEffects, 'refreshStatus'>;

interface Effect {
  readonly name: EffectName;
  readonly context: PodContext;
  readonly signal: AbortSignal;
  isUnderWay: boolean;
  /** A call about the pod was not carried out, or not answered, as it should have been, or one that was given up may still be. */
  isDisturbed: boolean;
}

/** The judge of one life of an agent: what its predecessor left behind is not its doing. */
export class LifeJudge {
  readonly #options: JudgeOptions;
  readonly #connection: number;
  readonly #courses = new WeakMap<object, Course>();
  readonly #latest = new Map<string, Course>();
  /** By UID, the latest. */
  readonly #effects = new Map<string, Effect>();
  /** UIDs of the pods about which a call has landed late, and no effect has begun since. */
  readonly #late = new Set<string>();
  /** By full name, the static pod between its start and Terminated. */
  readonly #started = new Map<string, string>();

  constructor(options: JudgeOptions, connection: number) {
    this.#options = options;
    this.#connection = connection;
  }

  /**
   * A pod actor shows this snapshot after that event; returns whether it is in another state than before. `actor` tells
   * incarnations apart.
   */
  sees(actor: object, snapshot: PodSnapshot, event: PodEvent): boolean {
    const course = this.#courseOf(actor, snapshot);
    const before = course.state;
    if (event.type === 'SyncPodCreate' && isPastSyncing(before)) course.orders.again = true;
    else if (course.rank < 2) course.orders.take(event);
    this.#checkOrder(course, snapshot);
    this.#checkName(course, snapshot);
    course.state = stateName(snapshot);
    course.hasStarted ||= course.state === 'Syncing.Working';
    this.#checkGrace(course, snapshot);
    this.#checkOrders(course, snapshot);
    this.#checkEffect(course);
    if (course.state === 'Syncing.Settled') this.#checkSynced(course, snapshot);
    if (event.type === 'STOP_FAILED') this.#checkFailure(course);
    return course.state !== before;
  }

  /** What the pod's actor was told about its end; undefined where there is no such pod. */
  ordersOf(uid: string): EndOrders | undefined {
    return this.#latest.get(uid)?.orders;
  }

  /** Whether the agent takes the pod for Terminated. */
  hasEnded(uid: string): boolean {
    return this.#latest.get(uid)?.state.startsWith('Terminated') === true;
  }

  callBegan(call: CallUnderWay): void {
    if (call.connection !== this.#connection) return;
    const course = this.#latest.get(call.uid);
    if (STARTS.has(call.name)) this.#checkStart(call, course);
    if (course?.state.startsWith('Terminating') === true) this.#checkStop(call, course);
  }

  /** Returns what is to be called when the effect has ended. */
  effectBegins(name: EffectName, context: PodContext, signal: AbortSignal): () => void {
    const { uid } = context;
    this.#checkAlone(uid, name);
    const isLate = this.#late.delete(uid);
    const isDisturbed = isLate || this.#options.truth.inFlight(uid).some((call) => this.#isAnothers(call));
    const effect: Effect = { name, context, signal, isUnderWay: true, isDisturbed };
    this.#effects.set(uid, effect);
    const course = this.#latest.get(uid);
    if (course !== undefined) {
      if (name === 'syncPod') course.synced = context.pod;
      this.#checkEffect(course);
    }
    return () => {
      effect.isUnderWay = false;
    };
  }

  /** Something about the pod did not go as it should have. */
  disturbed(uid: string): void {
    const effect = this.#effects.get(uid);
    if (effect !== undefined) effect.isDisturbed = true;
  }

  /** A call that was given up has had its effect: who is at work cannot know of it, and who comes next may not yet. */
  landedLate(uid: string): void {
    this.#late.add(uid);
    this.disturbed(uid);
  }

  /** I8: volumes go only after Terminated. What has not started has none: those of its former life may go. */
  released(uid: string): void {
    const course = this.#latest.get(uid);
    if (course === undefined || course.state.startsWith('Terminated')) return;
    if (!this.#hasSomething(course)) return;
    this.#violated('I8', this.#subject(uid), `its volumes are released ${inState(course)}`);
  }

  /** One that was to end before it had started has not. */
  #hasSomething({ uid, hasStarted }: Course): boolean {
    return hasStarted || this.#options.truth.isRunning(uid);
  }

  #courseOf(actor: object, snapshot: PodSnapshot): Course {
    let course = this.#courses.get(actor);
    if (course !== undefined) return course;
    const { uid, fullName } = snapshot.context;
    const [name = ''] = fullName.split('_');
    const [state, orders] = [AWAITING_START, new EndOrders()];
    course = {
      ...{ uid, name, fullName, rank: 0, graceSeconds: Infinity, state, orders, synced: undefined },
      hasStarted: false,
    };
    const before = this.#latest.get(uid);
    if (before !== undefined) this.#forget(before);
    this.#courses.set(actor, course);
    this.#latest.set(uid, course);
    return course;
  }

  /** I5: an effect begins where nothing of the one before is under way that may change something. */
  #checkAlone(uid: string, effect: EffectName): void {
    const before = this.#effects.get(uid);
    if (before?.isUnderWay === true)
      this.#violated('I5', this.#subject(uid), `${effect} begins beside ${before.name}`);
    for (const call of this.#options.truth.inFlight(uid)) {
      if (this.#isAnothers(call) || isRead(call.name)) continue;
      // What is left of a former life may go while this one ends, but not while it starts.
      if (call.name.startsWith('Remove') && effect !== 'syncPod') continue;
      this.#violated('I5', this.#subject(uid), `${effect} begins while ${call.name} is in flight`);
    }
  }

  /** Begun by an agent before this one, or given up. */
  #isAnothers({ connection, abandoned }: CallUnderWay): boolean {
    return connection !== this.#connection || abandoned;
  }

  /** I2: what may start something is only asked for while the pod is Syncing, and nobody has asked for its end. */
  #checkStart({ name, uid }: CallUnderWay, course: Course | undefined): void {
    const state = course?.state ?? '';
    if (state.startsWith('Syncing') && state !== AWAITING_START && state !== DRAINING) return;
    this.#violated('I2', this.#subject(uid), `${name} is issued ${inState(course)}`);
  }

  /** I4, at the runtime: no container is granted more than what is in force. */
  #checkStop({ name, graceSeconds = 0 }: CallUnderWay, course: Course): void {
    if (graceSeconds <= Math.max(LEAST_STOP_SECONDS, course.graceSeconds)) return;
    const what = `${name} grants ${graceSeconds} s where ${course.graceSeconds} s are in force`;
    this.#violated('I4', course, what);
  }

  /** An actor is followed by another one of its UID only once it is at its end, or has failed. */
  #forget({ uid, fullName }: Course): void {
    if (this.#started.get(fullName) === uid) this.#started.delete(fullName);
  }

  #checkOrder(course: Course, snapshot: PodSnapshot): void {
    const [state = ''] = Object.keys(snapshot.value);
    const rank = RANKS[state] ?? 0;
    if (rank < course.rank) this.#violated('I1', course, `${course.state}, then ${state}`);
    if (rank > course.rank) {
      this.#checkNothingStarts(course, state);
      if (state === 'Terminated') this.#checkNothingRuns(course);
    }
    course.rank = rank;
  }

  #checkNothingStarts(course: Course, state: string): void {
    for (const call of this.#options.truth.inFlight(course.uid)) {
      if (this.#isAnothers(call) || !STARTS.has(call.name)) continue;
      this.#violated('I2', course, `${call.name} is in flight as the pod becomes ${state}`);
    }
  }

  #checkNothingRuns(course: Course): void {
    if (this.#late.has(course.uid)) return;
    for (const { id, ready, containers } of this.#options.truth.sandboxesOf(course.uid)) {
      if (ready) this.#violated('I3', course, `sandbox ${id} is ready as the pod becomes Terminated`);
      for (const container of containers) {
        if (container.state !== 'CONTAINER_RUNNING') continue;
        this.#violated('I3', course, `${container.metadata.name} runs as the pod becomes Terminated`);
      }
    }
  }

  #checkGrace(course: Course, { context: { gracePeriodSeconds = Infinity } }: PodSnapshot): void {
    const { graceSeconds } = course;
    if (gracePeriodSeconds > graceSeconds) {
      this.#violated(
        'I4',
        course,
        `the grace period grows from ${graceSeconds} s to ${gracePeriodSeconds} s`,
      );
    }
    course.graceSeconds = gracePeriodSeconds;
  }

  /** What a pod that is to end was told is in force, all of it (lifecycle 2, 4, 9). */
  #checkOrders(course: Course, { context }: PodSnapshot): void {
    if (course.orders.again && !context.restartRequested)
      this.#violated('rule 9', course, 'it is forgotten that the pod was asked for again');
    if (!isEndingState(course.state)) return;
    const { gracePeriodSeconds = Infinity, evicted } = context;
    const { graceSeconds } = course.orders;
    if (gracePeriodSeconds > graceSeconds) {
      const what = `the grace period is ${gracePeriodSeconds} s, though ${graceSeconds} s were asked for`;
      this.#violated('I4', course, what);
    }
    if (gracePeriodSeconds < 1) this.#violated('rule 4', course, 'the grace period is below 1 s');
    if (evicted !== course.orders.evicted)
      this.#violated('rule 2', course, 'it is forgotten that the pod was evicted');
  }

  /** An effect that does not do any more what is wanted has been told to come to rest. */
  #checkEffect(course: Course): void {
    const effect = this.#effects.get(course.uid);
    if (effect?.isUnderWay !== true || effect.signal.aborted) return;
    if (course.state === DRAINING) this.#violated('I2', course, `${effect.name} goes on in ${DRAINING}`);
    if (effect.name !== 'stopPod') return;
    const { gracePeriodSeconds = Infinity } = effect.context;
    const { graceSeconds } = course.orders;
    if (gracePeriodSeconds <= graceSeconds) return;
    const what = `a stop with ${gracePeriodSeconds} s is under way, though ${graceSeconds} s were asked for`;
    this.#violated('I4', course, what);
  }

  /** A stop looks at what runs (lifecycle 7): it fails only where a call does. */
  #checkFailure(course: Course): void {
    if (this.#effects.get(course.uid)?.isDisturbed === false)
      this.#violated('rule 7', course, 'a stop fails, though all that it asked for was done');
  }

  /** Of several updates the newest counts (lifecycle 2): a pod does not settle before it has been synced. */
  #checkSynced(course: Course, { context: { pod } }: PodSnapshot): void {
    if (course.synced !== pod)
      this.#violated('rule 2', course, 'settles, and its newest version is not synced');
  }

  /** I6: of a static full name, one incarnation at most is between its start and Terminated. */
  #checkName(course: Course, snapshot: PodSnapshot): void {
    const { uid, fullName } = course;
    const { pod } = snapshot.context;
    if (pod === undefined || !isStaticPod(pod)) return;
    const isUnderWay = !snapshot.matches('Terminated') && stateName(snapshot) !== AWAITING_START;
    const isStarted = isUnderWay && (snapshot.matches('Syncing') || this.#hasSomething(course));
    const other = this.#started.get(fullName);
    if (!isStarted) {
      if (other === uid) this.#started.delete(fullName);
      return;
    }
    if (other === uid) return;
    if (other !== undefined) this.#checkOvertaken(course, other);
    this.#started.set(fullName, uid);
  }

  /** The other one's end is what lets this one start: its actor shows it a moment later. */
  #checkOvertaken(course: Course, other: string): void {
    queueMicrotask(() => {
      const { state = '' } = this.#latest.get(other) ?? {};
      if (state.startsWith('Terminated')) return;
      this.#violated('I6', course, `started while ${other} of the same name is in ${state}`);
    });
  }

  #subject(uid: string): { readonly uid: string; readonly name?: string } {
    return this.#latest.get(uid) ?? { uid };
  }

  #violated(invariant: string, { name, uid }: { uid: string; name?: string }, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, uid, what, ...(name !== undefined && { name }) });
  }
}

/** I3, I10: of each container one instance at most runs, whoever started it. */
export function secondInstance(truth: RuntimeTruth, started: ContainerTruth): ContainerTruth | undefined {
  for (const { containers } of truth.sandboxesOf(started.uid)) {
    for (const container of containers) {
      const isTwin = container.id !== started.id && container.metadata.name === started.metadata.name;
      if (isTwin && container.state === 'CONTAINER_RUNNING') return container;
    }
  }
  return undefined;
}

export function isRead(name: CallName): boolean {
  return /^(?:List|Version|Status|PodSandboxStatus|ContainerStatus|Image|ExecSync)/.test(name);
}

/** Who asks for such a pod asks for its next life. */
function isPastSyncing(state: string): boolean {
  return isEndingState(state) || state.startsWith('Terminated');
}

function inState(course: Course | undefined): string {
  return course === undefined ? 'for a pod that has no actor' : `in ${course.state}`;
}
