import { type Clock, MAX_TIMER_MS } from '../types/clock.ts';
import { StateletError } from '../types/errors.ts';

/** Resolves after `delayMs`, which is at most `MAX_TIMER_MS`; rejects as soon as `signal` aborts. Leaves no timer behind. */
export async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = clock.setTimeout(() => resolve(undefined), Math.min(delayMs, MAX_TIMER_MS));
  const abort = () => reject(new StateletError('Canceled', 'the wait was aborted'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    await promise;
  } finally {
    clock.clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
