import type { AgentContext } from '../../../types/agent-context.ts';
import type { Clock } from '../../../types/clock.ts';

/**
 * Containers come before sandboxes: pods that have begun to start are finished before others begin, so that the first pods
 * run early.
 */
export const RANK = { container: 0, sandbox: 1 } as const;
export type Rank = (typeof RANK)[keyof typeof RANK];

/** A start that takes longer gives its place to the next one: it may hang. */
const PATIENCE_MS = 5_000;

/**
 * Limits how many starts the runtime gets at a time. Runtimes accept any number, but a hundred at once take a fifth longer
 * than sixteen at a time, and no pod runs early.
 */
export class StartGate {
  readonly #clock: Clock;
  readonly #atOnce: number;
  /** By rank: functions that let a waiting start begin, the longest wait first. */
  readonly #waiting: Readonly<Record<Rank, Set<() => void>>> = { 0: new Set(), 1: new Set() };
  #inside = 0;

  /** `atOnce`: how many starts the runtime gets at a time. */
  constructor({ clock }: AgentContext, atOnce: number) {
    this.#clock = clock;
    this.#atOnce = atOnce;
  }

  /** Does the work when its turn comes. If `signal` aborts before that, rejects with the signal's reason. */
  async pass<T>(rank: Rank, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#inside < this.#atOnce) this.#inside += 1;
    else await this.#turn(rank, signal);
    const leave = this.#leaving();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Resolves when a place has become free for this start. */
  async #turn(rank: Rank, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiting = this.#waiting[rank];
    const enter = () => resolve(undefined);
    const giveUp = () => {
      waiting.delete(enter);
      reject(signal.reason as Error);
    };
    waiting.add(enter);
    signal.addEventListener('abort', giveUp, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  /** A function that gives the place up. A timer calls it if the work takes too long. */
  #leaving(): () => void {
    const clock = this.#clock;
    let isInside = true;
    const leave = () => {
      clock.clearTimeout(timer);
      if (isInside) this.#handOver();
      isInside = false;
    };
    const timer = clock.setTimeout(leave, PATIENCE_MS);
    return leave;
  }

  /** Gives the place to the next waiting start: containers first, then the longest wait. */
  #handOver(): void {
    for (const rank of [RANK.container, RANK.sandbox]) {
      for (const enter of this.#waiting[rank]) {
        this.#waiting[rank].delete(enter);
        enter();
        return;
      }
    }
    this.#inside -= 1;
  }
}
