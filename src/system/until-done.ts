import type { Clock } from '../types/clock.ts';
import { errorMessage } from '../types/errors.ts';
import { sleep } from './timer.ts';

export interface RetryOptions {
  readonly firstMs: number;
  /** Each pause is twice the one before, up to this. */
  readonly mostMs: number;
  readonly signal: AbortSignal;
  readonly onFailure: (problem: string) => void;
}

/** Tries until it is done. Rejects only when the signal aborts. */
export async function untilDone(
  clock: Clock,
  work: () => Promise<void>,
  { firstMs, mostMs, signal, onFailure }: RetryOptions,
): Promise<void> {
  for (let pauseMs = firstMs; ; pauseMs = Math.min(2 * pauseMs, mostMs)) {
    try {
      await work();
      return;
    } catch (error) {
      signal.throwIfAborted();
      onFailure(errorMessage(error));
    }
    await sleep(clock, pauseMs, signal);
  }
}
