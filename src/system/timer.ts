import { type Clock, MAX_TIMER_MS, type TimerHandle } from '../types/clock.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import { whenAborted } from './promises.ts';

/** A timer that can be armed again and disarmed: at most one call is pending. */
export class Timer {
  readonly #clock: Clock;
  #handle: TimerHandle | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isArmed(): boolean {
    return this.#handle !== undefined;
  }

  /** Calls once after the delay; a call that was pending is dropped. The delay is at most `MAX_TIMER_MS`. */
  arm(delayMs: number, callback: () => void): void {
    this.disarm();
    const fire = () => {
      this.#handle = undefined;
      callback();
    };
    this.#handle = this.#clock.setTimeout(fire, Math.min(delayMs, MAX_TIMER_MS));
  }

  disarm(): void {
    if (this.#handle === undefined) return;
    this.#clock.clearTimeout(this.#handle);
    this.#handle = undefined;
  }
}

/** Resolves after `delayMs`, which is at most `MAX_TIMER_MS`; rejects as soon as a signal aborts. Leaves no timer behind. */
export async function sleep(
  clock: Clock,
  delayMs: number,
  ...signals: readonly [AbortSignal, ...AbortSignal[]]
): Promise<void> {
  for (const signal of signals) signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = clock.setTimeout(() => resolve(undefined), Math.min(delayMs, MAX_TIMER_MS));
  const forget = whenAborted(signals, () => reject(new StateletError('Canceled', 'the wait was aborted')));
  try {
    await promise;
  } finally {
    clock.clearTimeout(timer);
    forget();
  }
}

/**
 * Gives `work` a signal that aborts as `signal` does, or after `limitMs` (0: never) with the error of `late`. Default: DeadlineExceeded. Leaves no timer
 * behind. Work does not begin where the signal has aborted.
 */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  late = () => new StateletError('DeadlineExceeded', `not done within ${limitMs / 1000} s`),
): Promise<T> {
  if (signal?.aborted === true) throw canceled(signal.reason);
  const limited = new AbortController();
  const timer = new Timer(clock);
  if (limitMs > 0) timer.arm(limitMs, () => limited.abort(late()));
  const forget = whenAborted(signal ? [signal] : [], (reason) => limited.abort(reason));
  try {
    return await work(limited.signal);
  } finally {
    timer.disarm();
    forget();
  }
}

function canceled(reason: unknown): Error {
  return reason instanceof StateletError
    ? reason
    : new StateletError('Canceled', errorMessage(reason), { cause: reason });
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (handle) => clearTimeout(handle),
};
