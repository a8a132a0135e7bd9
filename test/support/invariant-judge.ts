/**
 * Checks an agent against the invariants of docs/lifecycle.md: by the snapshots of its actors, the calls to its node, and what
 * the runtime itself reports. Of a pod's machine it knows only the three phases.
 */
import type { InspectionEvent } from 'xstate';
import type { PodEffects } from '../../src/agent/actors/pods/pod-actor.ts';
import type { PodActor, PodSnapshot } from '../../src/agent/actors/pods/pod-registry.ts';
import type { StatusManager } from '../../src/agent/actors/pods/status-manager.ts';
import type { Supervisor } from '../../src/agent/actors/supervisor.ts';
import type { PodContext } from '../../src/agent/machines/pod-machine.ts';
import { fullName } from '../../src/agent/policies/pod/pod-kinds.ts';
import type { KillPodOptions } from '../../src/agent/policies/termination/pod-termination.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type { Call, CallObserver, Method } from './steered-runtime.ts';

const PHASES = ['Syncing', 'Terminating', 'Terminated'];

const STARTS: ReadonlySet<Method> = new Set(['runPodSandbox', 'createContainer', 'startContainer']);
const RELEASES: ReadonlySet<Method> = new Set(['release', 'remove']);

/** The shortest stop that a runtime is asked for. */
const RUNTIME_MIN_SECONDS = 2;

/** The progress of one incarnation of a pod. */
interface Incarnation {
  readonly uid: string;
  phase: string;
  graceSeconds: number;
}

interface Kill {
  readonly uid: string;
  /** How often a pod of that UID had become Terminated before. */
  readonly endsBefore: number;
  readonly answeredAtOnce: boolean;
  answers: number;
}

export interface JudgedAgent {
  readonly supervisor: Supervisor;
  readonly statusManager: StatusManager;
}

export class InvariantJudge implements CallObserver {
  /** The runtime itself, without the steering of the test. */
  readonly #runtime: RuntimeService;
  readonly #violations: string[] = [];
  readonly #incarnations = new Map<PodActor, Incarnation>();
  /** By UID, the newest incarnation. */
  readonly #current = new Map<string, Incarnation>();
  readonly #ends = new Map<string, number>();
  readonly #effects = new Map<string, number>();
  readonly #inFlight = new Set<Call>();
  readonly #stopSeconds = new Map<unknown, number>();
  readonly #kills: Kill[] = [];
  readonly #meantToFail = new Set<string>();
  #callsBegun = 0;

  constructor(runtime: RuntimeService) {
    this.#runtime = runtime;
  }

  /** The agent's option `inspect`. */
  readonly inspect = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.microstep' && event.type !== '@xstate.snapshot') return;
    const snapshot = event.snapshot as PodSnapshot;
    // Only pods have this.
    if (!('runtimeHolds' in snapshot.context)) return;
    this.#saw(event.actorRef as PodActor, snapshot);
  };

  /** The agent's option `wrapEffects`. */
  readonly wrapEffects = (effects: PodEffects): PodEffects => ({
    ...effects,
    syncPod: (context, signal) => this.#effect(context, () => effects.syncPod(context, signal)),
    stopPod: (context, signal) => this.#effect(context, () => effects.stopPod(context, signal)),
    cleanUpPod: (context, signal) => this.#effect(context, () => effects.cleanUpPod(context, signal)),
  });

  begun(call: Call): void {
    this.#callsBegun += 1;
    this.#inFlight.add(call);
    const { method, uid, args } = call;
    const phase = this.#current.get(uid)?.phase;
    if (STARTS.has(method) && phase !== 'Syncing')
      this.#violated('I2', uid, `${method} is issued in ${phase}`);
    if (RELEASES.has(method) && phase !== undefined && phase !== 'Terminated')
      this.#violated('I8', uid, `${method} in ${phase}`);
    if (method === 'stopContainer') this.#checkStopSeconds(uid, args);
  }

  ended(call: Call): void {
    this.#inFlight.delete(call);
  }

  /** Kills a pod as eviction does, and expects an answer. */
  kill(
    { supervisor, statusManager }: JudgedAgent,
    uid: string,
    options: Omit<KillPodOptions, 'waiter'>,
  ): void {
    const phase = this.#current.get(uid)?.phase ?? 'Terminated';
    const endsBefore = this.#ends.get(uid) ?? 0;
    const kill: Kill = { uid, endsBefore, answeredAtOnce: phase === 'Terminated', answers: 0 };
    this.#kills.push(kill);
    const calls = this.#callsBegun;
    const status = statusManager.get(uid);
    void supervisor.killPod(uid, options).then(() => (kill.answers += 1));
    if (calls !== this.#callsBegun || status !== statusManager.get(uid))
      this.#violated('I9', uid, 'the kill itself did something to the pod');
  }

  /** The test makes the pod's actor fail: that is not a violation. */
  failureIsMeant(uid: string): void {
    this.#meantToFail.add(uid);
  }

  /** Resolves to all violations so far. Must be called while no event is on its way between actors. */
  async check(): Promise<readonly string[]> {
    this.#checkAnswers();
    const [sandboxes, containers] = await Promise.all([
      this.#runtime.listPodSandbox({ state: 'SANDBOX_READY' }),
      this.#runtime.listContainers({ state: 'CONTAINER_RUNNING' }),
    ]);
    const owners = new Map((await this.#runtime.listPodSandbox()).map(({ id, metadata }) => [id, metadata]));
    const running = containers.flatMap(({ podSandboxId }) => owners.get(podSandboxId) ?? []);
    for (const { uid } of [...running, ...sandboxes.map(({ metadata }) => metadata)]) {
      if (this.#current.get(uid)?.phase === 'Terminated') this.#violated('I3', uid, 'something of it runs');
    }
    const holders = new Map<string, string>();
    for (const metadata of running) {
      const name = fullName(metadata);
      const holder = holders.get(name) ?? metadata.uid;
      if (holder !== metadata.uid) this.#violated('I6', name, `${holder} and ${metadata.uid} run at once`);
      holders.set(name, holder);
    }
    return this.#violations;
  }

  #violated(invariant: string, whose: string, what: string): void {
    this.#violations.push(`${invariant} ${whose}: ${what}`);
  }

  #saw(actor: PodActor, { value, context, status, error }: PodSnapshot): void {
    const { uid, gracePeriodSeconds = Infinity } = context;
    if (status === 'error' && !this.#meantToFail.has(uid))
      this.#violated('I5', uid, `its actor failed: ${String(error)}`);
    const [phase = ''] = Object.keys(value);
    const incarnation = this.#incarnations.get(actor) ?? { uid, phase: 'Syncing', graceSeconds: Infinity };
    this.#incarnations.set(actor, incarnation);
    this.#current.set(uid, incarnation);
    if (PHASES.indexOf(phase) < PHASES.indexOf(incarnation.phase))
      this.#violated('I1', uid, `${incarnation.phase}, then ${phase}`);
    if (gracePeriodSeconds > incarnation.graceSeconds)
      this.#violated('I4', uid, `${incarnation.graceSeconds} s, then ${gracePeriodSeconds} s`);
    incarnation.graceSeconds = gracePeriodSeconds;
    if (phase === incarnation.phase) return;
    incarnation.phase = phase;
    if (phase === 'Terminated') this.#ends.set(uid, (this.#ends.get(uid) ?? 0) + 1);
    for (const { method } of this.#startsInFlight(uid))
      this.#violated('I2', uid, `${method} is in flight in ${phase}`);
  }

  #startsInFlight(uid: string): readonly Call[] {
    return [...this.#inFlight].filter((call) => call.uid === uid && STARTS.has(call.method));
  }

  /** A container gets at most the grace period of its pod, and never a longer one than before. */
  #checkStopSeconds(uid: string, [id, timeoutSeconds]: readonly unknown[]): void {
    const seconds = Number(timeoutSeconds);
    const before = this.#stopSeconds.get(id) ?? Infinity;
    this.#stopSeconds.set(id, seconds);
    const { phase, graceSeconds } = this.#current.get(uid) ?? { phase: '', graceSeconds: Infinity };
    const granted = phase === 'Terminating' ? Math.max(graceSeconds, RUNTIME_MIN_SECONDS) : Infinity;
    const limit = Math.min(before, granted);
    if (seconds > limit) this.#violated('I4', uid, `StopContainer in ${seconds} s, with ${limit} s left`);
  }

  async #effect<T>({ uid }: PodContext, work: () => Promise<T>): Promise<T> {
    const others = this.#effects.get(uid) ?? 0;
    if (others > 0) this.#violated('I5', uid, 'an effect begins beside another');
    this.#effects.set(uid, others + 1);
    try {
      return await work();
    } finally {
      this.#effects.set(uid, (this.#effects.get(uid) ?? 1) - 1);
    }
  }

  #checkAnswers(): void {
    for (const { uid, endsBefore, answeredAtOnce, answers } of this.#kills) {
      const wanted = answeredAtOnce || (this.#ends.get(uid) ?? 0) > endsBefore ? 1 : 0;
      if (answers !== wanted) this.#violated('I7', uid, `a kill is answered ${answers} times, not ${wanted}`);
    }
  }
}
