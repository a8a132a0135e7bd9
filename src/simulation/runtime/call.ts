import { Timer } from '../../system/timer.ts';
import { type Clock, MAX_TIMER_MS } from '../../types/clock.ts';
import { type ErrorKind, errorKind, StateletError } from '../../types/errors.ts';
import { AT_ONCE, type CallPlan, landsUnawaited, planCall, type RuntimeFaults } from './call-faults.ts';
import type { CallName, Latencies, Random } from './chance.ts';
import type { OpenCall, SimulatedPod } from './world.ts';
import type { RuntimeWitness } from './witness.ts';

/** The work of a call returns this if the answer comes later, by `complete` or `fail`. */
export const LATER = Symbol('later');

/** The parts that all calls of a runtime share. */
export interface CallHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly latencies: Latencies;
  readonly requestTimeoutMs: number;
  readonly witness: RuntimeWitness;
  readonly down: boolean;
  faultsOf(uid: string): RuntimeFaults;
  /** A call about the pod is over. */
  forgetIfEmpty(pod: SimulatedPod): void;
}

export interface CallRequest<T> {
  readonly name: CallName;
  readonly pod: SimulatedPod;
  readonly target: string;
  readonly graceSeconds?: number | undefined;
  readonly connection: number;
  readonly signal: AbortSignal | undefined;
  /** Until the client gives up; Infinity for never. */
  readonly timeoutMs: number;
  /** What the call does once it lands. */
  readonly work: (call: Call<T>) => T | typeof LATER;
}

/** Calls that change nothing: once the caller gives one up, it is over. */
const READS: ReadonlySet<CallName> = new Set([
  'Version',
  'Status',
  'ListPodSandbox',
  'PodSandboxStatus',
  'ListContainers',
  'ContainerStatus',
  'ListContainerStats',
  'ImageStatus',
  'ListImages',
  'ImageFsInfo',
] as const);

/**
 * One call of one client. It begins, lands (is carried out) and is answered; the last two take time, and may never
 * come.
 */
export class Call<T> implements OpenCall {
  readonly name: CallName;
  readonly ordinal: number;
  readonly target: string;
  readonly graceSeconds: number | undefined;
  readonly connection: number;
  readonly beganAt: number;
  readonly answer: Promise<T>;
  abandoned = false;
  landed = false;
  readonly #host: CallHost;
  readonly #request: CallRequest<T>;
  #resolve: (value: T) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #value: number | undefined;
  #plan: CallPlan = AT_ONCE;
  /** Until the next step of the call. */
  readonly #timer: Timer;
  readonly #deadline: Timer;
  #callOff: (() => void) | undefined;
  #over = false;

  constructor(host: CallHost, request: CallRequest<T>) {
    this.#host = host;
    this.#request = request;
    this.name = request.name;
    this.ordinal = request.pod.next(request.name);
    this.target = request.target;
    this.graceSeconds = request.graceSeconds;
    this.connection = request.connection;
    this.beganAt = host.clock.now();
    this.#timer = new Timer(host.clock);
    this.#deadline = new Timer(host.clock);
    this.answer = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get uid(): string {
    return this.#request.pod.uid;
  }

  begin(): void {
    const { witness, down } = this.#host;
    witness.callBegan?.(this);
    if (down) {
      this.#answer(errorOf('Unavailable', this.name, 'the runtime is down'));
      this.#end();
      return;
    }
    this.#plan = this.#planned();
    const { fate, landsAfterMs, tailMs } = this.#plan;
    if (fate === 'failed') this.#after(landsAfterMs + tailMs, () => this.#fails());
    else if (fate === 'untrue') this.#after(landsAfterMs + tailMs, () => this.#pretends());
    else this.#after(landsAfterMs, () => this.#lands());
    if (this.#over) return;
    const { pod, signal, timeoutMs } = this.#request;
    pod.calls.add(this);
    signal?.addEventListener('abort', this);
    if (fate === 'hung' || landsAfterMs + tailMs >= timeoutMs) this.#armDeadline();
  }

  /** The answer of work that has returned LATER. */
  complete(value: T): void {
    this.#callOff = undefined;
    this.#hasLanded(undefined, value);
  }

  /** The error of work that has returned LATER. */
  fail(error: unknown): void {
    this.#callOff = undefined;
    this.#hasLanded(error, undefined);
  }

  /** Sets how to stop work that has returned LATER, for the case that its caller gives up and it is not to go on. */
  onCalledOff(callOff: () => void): void {
    this.#callOff = callOff;
  }

  /** The caller's signal has aborted: the call itself is the listener. */
  handleEvent(): void {
    this.#abandon(canceled(this.name));
  }

  cut(): void {
    this.#abandon(undefined);
  }

  close(): void {
    this.#abandon(closed(this.name));
  }

  /**
   * The runtime goes down: the call lands now or never, and work that is under way stops, such as the wait before a
   * SIGKILL.
   */
  breakOff(): void {
    if (!this.landed && this.#mayLand()) {
      this.#timer.disarm();
      this.#lands();
    }
    if (this.#over) return;
    this.#answerUnlessAbandoned(errorOf('Unavailable', this.name, 'the runtime went down'));
    this.#callOff?.();
    this.#end();
  }

  #planned(): CallPlan {
    const { latencies } = this.#host;
    const { name, timeoutMs } = this.#request;
    const { calls, anyCall } = this.#host.faultsOf(this.uid);
    const faults = calls?.[name] ?? anyCall;
    const latency = latencies[name];
    if (faults === undefined && latency === undefined) return AT_ONCE;
    const limitMs = timeoutMs === Infinity ? this.#host.requestTimeoutMs : timeoutMs;
    return planCall(name, { faults, latency, timeoutMs: limitMs }, this.#chance());
  }

  /** The number that decides everything about this call that is left to chance. */
  #chance(): number {
    this.#value ??= this.#host.random(`${this.uid}/${this.name}/${this.ordinal}`);
    return this.#value;
  }

  #lands(): void {
    this.landed = true;
    try {
      const value = this.#request.work(this);
      if (value !== LATER) this.#hasLanded(undefined, value);
    } catch (error) {
      this.#hasLanded(error, undefined);
    }
  }

  #hasLanded(error: unknown, value: T | undefined): void {
    if (this.abandoned) {
      this.#host.witness.callLanded?.(this);
      this.#end();
      return;
    }
    const { fate, tailMs } = this.#plan;
    if (fate === 'hung') return;
    const shown = fate === 'answerLost' ? errorOf('Unavailable', this.name, 'the connection broke') : error;
    this.#after(tailMs, () => {
      this.#answer(shown, value);
      this.#end();
    });
  }

  #fails(): void {
    this.#answer(errorOf(this.#plan.kind ?? 'Unknown', this.name, 'a fault of the simulation'));
    this.#end();
  }

  #pretends(): void {
    this.#answer(undefined);
    this.#end();
  }

  #answer(error: unknown, value?: T): void {
    if (error === undefined) this.#resolve(value as T);
    else this.#reject(error);
    this.#host.witness.callEnded?.(this, error === undefined ? 'done' : errorKind(error));
  }

  /** The caller waits no longer. `error` is undefined if the caller's process is gone. */
  #abandon(error: StateletError | undefined): void {
    if (this.abandoned || this.#over) return;
    this.#answerUnlessAbandoned(error);
    if (this.#mayLand()) return;
    this.#callOff?.();
    this.#end();
  }

  #answerUnlessAbandoned(error: StateletError | undefined): void {
    if (this.abandoned) return;
    this.abandoned = true;
    if (error !== undefined) this.#answer(error);
    else this.#host.witness.callEnded?.(this, 'cut');
    this.#stopWaiting();
  }

  /** Whether the call can still have an effect, and chance says that it has it. */
  #mayLand(): boolean {
    const isDone = this.landed && this.#callOff === undefined;
    const { fate, landsAfterMs } = this.#plan;
    if (isDone || fate === 'failed' || fate === 'untrue' || landsAfterMs === Infinity || READS.has(this.name))
      return false;
    return landsUnawaited(this.#chance());
  }

  #armDeadline(): void {
    const { timeoutMs } = this.#request;
    if (timeoutMs > MAX_TIMER_MS) return;
    const problem = `no answer within ${timeoutMs / 1000} s`;
    this.#deadline.arm(timeoutMs, () => this.#abandon(errorOf('DeadlineExceeded', this.name, problem)));
  }

  #after(delayMs: number, next: () => void): void {
    if (delayMs <= 0) next();
    else if (delayMs < Infinity) this.#timer.arm(delayMs, next);
  }

  #end(): void {
    this.#over = true;
    this.#callOff = undefined;
    this.#timer.disarm();
    this.#stopWaiting();
    const { pod } = this.#request;
    pod.calls.delete(this);
    this.#host.forgetIfEmpty(pod);
  }

  #stopWaiting(): void {
    this.#deadline.disarm();
    this.#request.signal?.removeEventListener('abort', this);
  }
}

export const canceled = (name: CallName): StateletError =>
  new StateletError('Canceled', `${name} was given up`);

export const closed = (name: CallName): StateletError =>
  new StateletError('Unavailable', `${name}: the connection to the runtime was closed`);

const errorOf = (kind: ErrorKind, name: CallName, problem: string): StateletError =>
  new StateletError(kind, `${name}: ${problem}`);
