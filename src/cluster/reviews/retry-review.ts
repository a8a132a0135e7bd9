/** Asks again where the API server could not answer, as the kubelet does. */
import { sleep } from '../../system/sleep.ts';
import type { Clock } from '../../types/clock.ts';
import { errorKind } from '../../types/errors.ts';

const ATTEMPTS = 5;
const FIRST_DELAY_MS = 500;
const FACTOR = 1.5;
const JITTER = 0.2;
/** What another attempt may help with. */
const PASSING = new Set(['Unavailable', 'DeadlineExceeded', 'Internal', 'ResourceExhausted']);

export interface ReviewTiming {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Ends the wait for another attempt. */
  readonly signal: AbortSignal;
}

/** Rejects with the error of the last attempt. */
export async function retryReview<T>(
  { clock, random, signal }: ReviewTiming,
  ask: () => Promise<T>,
): Promise<T> {
  let delayMs = FIRST_DELAY_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === ATTEMPTS || !PASSING.has(errorKind(error))) throw error;
    }
    await sleep(clock, delayMs * (1 + random() * JITTER), signal);
    delayMs *= FACTOR;
  }
}
