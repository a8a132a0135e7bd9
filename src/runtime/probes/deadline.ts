import { type Clock, MAX_TIMER_MS } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';

/**
 * Gives `work` a signal that aborts with `signal`, or after `limitMs` (0: never) with a DeadlineExceeded as its reason.
 * Leaves no timer behind.
 */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  const timeUp = () =>
    controller.abort(new StateletError('DeadlineExceeded', `not done within ${limitMs / 1000} s`));
  const timer = limitMs > 0 ? clock.setTimeout(timeUp, Math.min(limitMs, MAX_TIMER_MS)) : undefined;
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    if (timer !== undefined) clock.clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
