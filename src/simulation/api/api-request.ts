import type { ConnectionObserver } from '../../agent/cluster/service/api-server.ts';
import { ApiError } from '../../agent/cluster/service/api-error.ts';
import type { Collection, ObjectReference } from '../../agent/cluster/service/api-resources.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { landsUnawaited } from '../runtime/call-faults.ts';
import { type ApiFaults, planRequest, type RequestPlan } from './api-faults.ts';
import type { ApiWitness, RequestUnderWay } from './api-witness.ts';
import type { ApiVerb } from './node-rights.ts';

/** How the server can be reached: `silent`: it takes requests and answers nothing. */
export type Reachability = 'up' | 'refusing' | 'silent';

/** The parts that all requests to a server share. */
export interface RequestHost {
  readonly clock: Clock;
  readonly witness: ApiWitness;
  readonly reachability: Reachability;
  readonly faults: ApiFaults;
}

export interface RequestDetails<T> {
  readonly verb: ApiVerb;
  readonly target: Collection | ObjectReference;
  readonly connection: number;
  readonly observer: ConnectionObserver | undefined;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  /** Decides everything that is left to chance. */
  readonly chance: number;
  /** The work of the server for the request. */
  readonly work: () => T;
  readonly onOver: (request: ApiRequest<T>) => void;
}

/** After this time without any sign of life, a client gives its connection up. */
export const SILENCE_LIMIT_MS = 30_000;
const REFUSED_AFTER_MS = 1;

/** One request. It begins, is carried out and is answered. The last two take time, and may never happen. */
export class ApiRequest<T> implements RequestUnderWay {
  readonly verb: ApiVerb;
  readonly target: Collection | ObjectReference;
  readonly connection: number;
  readonly answer: Promise<T>;
  abandoned = false;
  readonly #host: RequestHost;
  readonly #details: RequestDetails<T>;
  readonly #plan: RequestPlan;
  readonly #step: Timer;
  readonly #limit: Timer;
  #resolve: (value: T) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #isCarriedOut = false;
  #isOver = false;

  constructor(host: RequestHost, details: RequestDetails<T>) {
    this.#host = host;
    this.#details = details;
    this.verb = details.verb;
    this.target = details.target;
    this.connection = details.connection;
    this.#plan = planRequest(host.faults, details.chance);
    this.#step = new Timer(host.clock);
    this.#limit = new Timer(host.clock);
    this.answer = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  begin(): void {
    const { signal, timeoutMs = SILENCE_LIMIT_MS } = this.#details;
    this.#host.witness.requestBegan?.(this);
    if (signal?.aborted === true) {
      this.handleEvent();
      return;
    }
    signal?.addEventListener('abort', this);
    this.#limit.arm(timeoutMs, () => this.#giveUp(noAnswer(timeoutMs)));
    this.#send();
  }

  /** The caller's signal has aborted: the request itself is the listener. */
  handleEvent(): void {
    this.#giveUp(new StateletError('Canceled', `${this.verb} ${this.target.resource}: canceled`));
  }

  /** The agent was killed: it gets no answer. */
  cut(): void {
    this.#giveUp(undefined);
  }

  /** The server goes away. */
  breakOff(): void {
    if (this.abandoned) this.#end('Unavailable');
    else this.#answer(connectionBroke());
  }

  /** The server answers nothing more, and the client does not notice. */
  fallSilent(): void {
    this.#step.disarm();
  }

  #send(): void {
    const { fate, refusal, landsAfterMs, tailMs } = this.#plan;
    const { reachability } = this.#host;
    if (reachability === 'silent') return;
    if (reachability === 'refusing') this.#after(REFUSED_AFTER_MS, () => this.#answer(connectionRefused()));
    else if (fate === 'unreached') this.#after(landsAfterMs, () => this.#answer(connectionBroke()));
    else if (fate === 'refused') this.#after(landsAfterMs + tailMs, () => this.#answer(refusal));
    else if (landsAfterMs < Infinity) this.#after(landsAfterMs, () => this.#carryOut());
  }

  #carryOut(): void {
    this.#isCarriedOut = true;
    this.#host.witness.requestLands?.(this);
    const { fate, tailMs } = this.#plan;
    let value: T | undefined;
    let error: unknown;
    try {
      value = this.#details.work();
    } catch (thrown) {
      error = thrown;
    }
    if (this.abandoned) this.#end(error === undefined ? 'done' : errorKind(error));
    else if (fate === 'answerLost') this.#after(tailMs, () => this.#answer(connectionBroke()));
    else if (fate === 'answered') this.#after(tailMs, () => this.#answer(error, value));
  }

  #answer(error: unknown, value?: T): void {
    if (error === undefined) this.#resolve(value as T);
    else this.#reject(error);
    this.#observe(error);
    this.#end(error === undefined ? 'done' : errorKind(error));
  }

  #observe(error: unknown): void {
    const { observer } = this.#details;
    if (error === undefined || error instanceof ApiError) observer?.answered();
    else if (errorKind(error) !== 'Canceled') observer?.failed(errorMessage(error));
  }

  /** The client does not wait any more. The request may still be carried out. `error`: undefined if the client is gone. */
  #giveUp(error: StateletError | undefined): void {
    if (this.#isOver || this.abandoned) return;
    const { landsAfterMs } = this.#plan;
    this.abandoned = true;
    this.#limit.disarm();
    this.#details.signal?.removeEventListener('abort', this);
    if (error !== undefined) {
      this.#reject(error);
      this.#observe(error);
    }
    const isUnderWay = this.#step.isArmed && !this.#isCarriedOut && landsAfterMs < Infinity;
    if (!isUnderWay || !landsUnawaited(this.#details.chance)) this.#end(error?.kind ?? 'cut');
  }

  #end(answer: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#step.disarm();
    this.#limit.disarm();
    this.#details.signal?.removeEventListener('abort', this);
    this.#host.witness.requestEnded?.(this, answer);
    this.#details.onOver(this);
  }

  #after(delayMs: number, next: () => void): void {
    this.#step.arm(delayMs, next);
  }
}

const connectionBroke = () => new StateletError('Unavailable', 'the connection to the API server broke');
const connectionRefused = () => new StateletError('Unavailable', 'the API server refuses connections');
const noAnswer = (ms: number) =>
  new StateletError('DeadlineExceeded', `the API server has not answered within ${String(ms / 1000)} s`);
