import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';

/** Gives `work` a signal that aborts with `signal`, or after `limitMs` (0: never) with DeadlineExceeded as its reason. */
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
  const timer = new Timer(clock);
  if (limitMs > 0) timer.arm(limitMs, timeUp);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    timer.disarm();
    signal.removeEventListener('abort', abort);
  }
}
