import type { AgentContext } from '../../../types/agent-context.ts';
import type { Clock } from '../../../types/clock.ts';
import type { RuntimeStatus } from '../../../types/cri.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { RuntimeHealth } from '../../policies/node/ready-problems.ts';
import { Timer, withDeadline } from '../../../system/timer.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { unlessAborted } from '../../../system/promises.ts';

/** How long to wait before asking a runtime again that is not ready: doubling (the kubelet's sync loop). */
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 5_000;
/** A runtime that has not answered for this long is down, even if its calls may take longer (the kubelet's value). */
const PATIENCE_MS = 30_000;
const NO_ANSWER = `container runtime is down: it has not answered for ${PATIENCE_MS / 1000} s`;

export interface RuntimeStateParts {
  readonly runtime: RuntimeService;
  /** Called when the runtime answers again, before it counts as ready. If it rejects, the runtime is not ready. */
  readonly prepare: () => Promise<void>;
  readonly onReady: () => void;
  /** Called also when the problem has changed. */
  readonly onNotReady: (problem: string) => void;
  /** Called when the network of pods has become ready, or is not ready any more. */
  readonly onNetworkChange: () => void;
}

/** Whether the container runtime and the network of pods are ready. */
export class RuntimeState {
  readonly #clock: Clock;
  readonly #parts: RuntimeStateParts;
  #status: RuntimeStatus | undefined;
  /** When the runtime last said that it is ready. */
  #readyAt: number | undefined;
  /** Undefined while the runtime is ready. */
  #problem: string | undefined = 'the runtime has not been asked yet';
  #checking = false;
  readonly #stopped = new AbortController();
  #backOffMs = BACK_OFF_MIN_MS;
  readonly #timer: Timer;

  constructor({ clock }: AgentContext, parts: RuntimeStateParts) {
    this.#clock = clock;
    this.#parts = parts;
    this.#timer = new Timer(clock);
  }

  /** Why the runtime is not ready, if so. */
  runtimeProblem(): string | undefined {
    return this.#problem;
  }

  /** Why the network is not ready, if so. */
  networkProblem(): string | undefined {
    const network = this.#status?.conditions.find(({ type }) => type === 'NetworkReady');
    return network?.status === false ? `${network.reason}: ${network.message}` : undefined;
  }

  /** From the runtime's last status. */
  get supplementalGroupsPolicy(): boolean {
    return this.#status?.supplementalGroupsPolicy ?? false;
  }

  /** For the status of the node. */
  health(): RuntimeHealth {
    return { status: this.#status, readyAt: this.#readyAt };
  }

  /** Asks the runtime now, and again until it is ready. When it is ready, the caller decides when to ask next. */
  async check(): Promise<void> {
    if (this.#checking || this.#stopped.signal.aborted) return;
    this.#checking = true;
    const problem = await this.#ask();
    this.#checking = false;
    this.#report(problem);
  }

  stop(): void {
    this.#stopped.abort();
    this.#timer.disarm();
  }

  async #ask(): Promise<string | undefined> {
    const { runtime, prepare } = this.#parts;
    try {
      const status = await this.#patiently((signal) => runtime.status({ signal }));
      this.#take(status);
      const condition = status.conditions.find(({ type }) => type === 'RuntimeReady');
      if (condition?.status === false) return `${condition.reason}: ${condition.message}`;
      this.#readyAt = this.#clock.now();
      if (this.#problem !== undefined) await this.#patiently(prepare);
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  #take(status: RuntimeStatus): void {
    const wasReady = this.networkProblem() === undefined;
    this.#status = status;
    if (wasReady !== (this.networkProblem() === undefined)) this.#parts.onNetworkChange();
  }

  /** Gives the work up after `PATIENCE_MS`. The work is not awaited then, but may still be going on. */
  async #patiently<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let over = false as boolean;
    const limited = (signal: AbortSignal) => {
      signal.addEventListener('abort', () => (over = true), { once: true });
      return unlessAborted(work(signal), signal);
    };
    try {
      return await withDeadline(this.#clock, PATIENCE_MS, this.#stopped.signal, limited);
    } catch (error) {
      throw over ? new StateletError('DeadlineExceeded', NO_ANSWER) : error;
    }
  }

  #report(problem: string | undefined): void {
    if (this.#stopped.signal.aborted) return;
    const changed = problem !== this.#problem;
    this.#problem = problem;
    this.#timer.disarm();
    if (problem === undefined) this.#backOffMs = BACK_OFF_MIN_MS;
    else this.#askAgain();
    if (!changed) return;
    if (problem === undefined) this.#parts.onReady();
    else this.#parts.onNotReady(problem);
  }

  #askAgain(): void {
    this.#timer.arm(this.#backOffMs, () => void this.check());
    this.#backOffMs = Math.min(2 * this.#backOffMs, BACK_OFF_MAX_MS);
  }
}
