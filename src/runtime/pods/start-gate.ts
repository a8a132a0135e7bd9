import type { Clock } from '../../types/clock.ts';

/**
 * Those that carry a pod further come first: what has been begun is finished before more is begun, and the first pods run
 * early.
 */
export const RANK = { container: 0, sandbox: 1 } as const;
export type Rank = (typeof RANK)[keyof typeof RANK];

export interface StartGateOptions {
  readonly clock: Clock;
  /** How many starts are with the runtime at a time. */
  readonly atOnce: number;
}

/** A start that takes longer than this holds up nobody else: it may hang. */
const PATIENCE_MS = 5_000;

/**
 * Lets so many starts at a time to the runtime. Runtimes take any number at once, but a hundred together take a fifth
 * longer than sixteen at a time, and none of them runs early.
 */
export class StartGate {
  readonly #options: StartGateOptions;
  /** By rank, what lets in those who wait, longest first. */
  readonly #waiting: Readonly<Record<Rank, Set<() => void>>> = { 0: new Set(), 1: new Set() };
  #inside = 0;

  constructor(options: StartGateOptions) {
    this.#options = options;
  }

  /** Does the work when it is its turn. Rejects with the signal's reason, the work undone, when it aborts before that. */
  async pass<T>(rank: Rank, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#inside < this.#options.atOnce) this.#inside += 1;
    else await this.#turn(rank, signal);
    const leave = this.#leaving();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Resolves when somebody has handed a place over. */
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

  /** What gives the place up, which it does by itself when that takes too long. */
  #leaving(): () => void {
    const { clock } = this.#options;
    let isInside = true;
    const leave = () => {
      clock.clearTimeout(timer);
      if (isInside) this.#handOver();
      isInside = false;
    };
    const timer = clock.setTimeout(leave, PATIENCE_MS);
    return leave;
  }

  /** Of one rank to the one that has waited longest. */
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
