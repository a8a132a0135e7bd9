import type { Clock, TimerHandle } from '../types/clock.ts';
import type { RuntimeStatus } from '../types/cri.ts';
import { errorMessage } from '../types/errors.ts';
import type { RuntimeService } from './runtime-service.ts';

/** How often a runtime that is not ready is asked again: doubling (the kubelet's sync loop). */
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 5_000;

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
  #stopped = false;
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
    if (this.#checking || this.#stopped) return;
    this.#checking = true;
    const problem = await this.#ask();
    this.#checking = false;
    this.#report(problem);
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  async #ask(): Promise<string | undefined> {
    const { runtime, prepare } = this.#options;
    try {
      this.#status = await runtime.status();
      const condition = this.#status.conditions.find(({ type }) => type === 'RuntimeReady');
      if (condition?.status === false) return `${condition.reason}: ${condition.message}`;
      if (this.#problem !== undefined) await prepare();
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  #report(problem: string | undefined): void {
    if (this.#stopped) return;
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
