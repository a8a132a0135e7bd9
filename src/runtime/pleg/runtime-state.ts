import type { Clock, TimerHandle } from '../../types/clock.ts';
import type { RuntimeStatus } from '../../types/cri.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { withDeadline } from '../probes/deadline.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { unlessAborted } from '../../system/unless-aborted.ts';

/** How often a runtime that is not ready is asked again: doubling (the kubelet's sync loop). */
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 5_000;
/** A runtime that has not answered for so long counts as down, however long its calls may take (the kubelet's). */
const PATIENCE_MS = 30_000;
const NO_ANSWER = `container runtime is down: it has not answered for ${PATIENCE_MS / 1000} s`;

export interface RuntimeStateOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  /** Called once the runtime answers, before it counts as ready; a rejection means that it is not. */
  readonly prepare: () => Promise<void>;
  readonly onReady: () => void;
  /** Also when the problem has become another. */
  readonly onNotReady: (problem: string) => void;
}

/** Whether the container runtime, and the network that it gives to pods, can be used. */
export class RuntimeState {
  readonly #options: RuntimeStateOptions;
  #status: RuntimeStatus = { conditions: [], supplementalGroupsPolicy: false };
  /** Undefined while it is ready. */
  #problem: string | undefined = 'the runtime has not been asked yet';
  #checking = false;
  readonly #stopped = new AbortController();
  #backOffMs = BACK_OFF_MIN_MS;
  #timer: TimerHandle | undefined;

  constructor(options: RuntimeStateOptions) {
    this.#options = options;
  }

  /** Why no pod can be synced now, if so. */
  runtimeProblem(): string | undefined {
    return this.#problem;
  }

  /** Why pods cannot have a network, if so. */
  networkProblem(): string | undefined {
    const network = this.#status.conditions.find(({ type }) => type === 'NetworkReady');
    return network?.status === false ? `${network.reason}: ${network.message}` : undefined;
  }

  /** As the runtime said when it was last asked. */
  get supplementalGroupsPolicy(): boolean {
    return this.#status.supplementalGroupsPolicy;
  }

  /** Asks the runtime now, and again until it is ready. While it is, asking is up to the caller. */
  async check(): Promise<void> {
    if (this.#checking || this.#stopped.signal.aborted) return;
    this.#checking = true;
    const problem = await this.#ask();
    this.#checking = false;
    this.#report(problem);
  }

  stop(): void {
    this.#stopped.abort();
    this.#disarm();
  }

  async #ask(): Promise<string | undefined> {
    const { runtime, prepare } = this.#options;
    try {
      this.#status = await this.#patiently((signal) => runtime.status({ signal }));
      const condition = this.#status.conditions.find(({ type }) => type === 'RuntimeReady');
      if (condition?.status === false) return `${condition.reason}: ${condition.message}`;
      if (this.#problem !== undefined) await this.#patiently(prepare);
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  /** What is still under way after that goes on by itself. */
  async #patiently<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let over = false as boolean;
    const limited = (signal: AbortSignal) => {
      signal.addEventListener('abort', () => (over = true), { once: true });
      return unlessAborted(work(signal), signal);
    };
    try {
      return await withDeadline(this.#options.clock, PATIENCE_MS, this.#stopped.signal, limited);
    } catch (error) {
      throw over ? new StateletError('DeadlineExceeded', NO_ANSWER) : error;
    }
  }

  #report(problem: string | undefined): void {
    if (this.#stopped.signal.aborted) return;
    const changed = problem !== this.#problem;
    this.#problem = problem;
    this.#disarm();
    if (problem === undefined) this.#backOffMs = BACK_OFF_MIN_MS;
    else this.#askAgain();
    if (!changed) return;
    if (problem === undefined) this.#options.onReady();
    else this.#options.onNotReady(problem);
  }

  #askAgain(): void {
    this.#timer = this.#options.clock.setTimeout(() => void this.check(), this.#backOffMs);
    this.#backOffMs = Math.min(2 * this.#backOffMs, BACK_OFF_MAX_MS);
  }

  /** Whoever asked, the next question has its own time: there is never a second timer. */
  #disarm(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
