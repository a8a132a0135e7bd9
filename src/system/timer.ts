import { type Clock, MAX_TIMER_MS, type TimerHandle } from '../types/clock.ts';

/** One timer that is armed, armed anew and disarmed: at most one call is to come. */
export class Timer {
  readonly #clock: Clock;
  #handle: TimerHandle | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isArmed(): boolean {
    return this.#handle !== undefined;
  }

  /** Calls once after the delay, in place of what it was armed for before. A delay longer than a timer can wait is cut to that. */
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
