import { type Clock, MAX_TIMER_MS, type TimerHandle } from '../types/clock.ts';
import { StateletError } from '../types/errors.ts';

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

/** Runs the work with a signal that aborts as `signal` does, and after that time. Leaves no timer behind. */
export async function withinTime<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal | undefined,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timeUp = () => limit.abort(new DOMException('the time limit is over', 'TimeoutError'));
  const timer = clock.setTimeout(timeUp, limitMs);
  try {
    return await work(signal ? AbortSignal.any([signal, limit.signal]) : limit.signal);
  } finally {
    clock.clearTimeout(timer);
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (handle) => clearTimeout(handle),
};
