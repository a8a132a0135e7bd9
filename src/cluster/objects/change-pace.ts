import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';

const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 10_000;

/** Tells of changes: of the first at once, and less and less often while they go on. The last one is always told. */
export class ChangePace {
  readonly #clock: Clock;
  readonly #tell: () => void;
  readonly #timer: Timer;
  #pauseMs = PAUSE_MIN_MS;
  #toldAt = -Infinity;

  constructor(clock: Clock, tell: () => void) {
    this.#clock = clock;
    this.#tell = tell;
    this.#timer = new Timer(clock);
  }

  changed(): void {
    if (this.#timer.isArmed) return;
    const sinceMs = this.#clock.now() - this.#toldAt;
    if (sinceMs > 2 * this.#pauseMs) this.#pauseMs = PAUSE_MIN_MS;
    if (sinceMs >= this.#pauseMs) {
      this.#tellNow();
      return;
    }
    this.#timer.arm(this.#pauseMs - sinceMs, () => {
      this.#pauseMs = Math.min(PAUSE_MAX_MS, 2 * this.#pauseMs);
      this.#tellNow();
    });
  }

  stop(): void {
    this.#timer.disarm();
  }

  #tellNow(): void {
    this.#toldAt = this.#clock.now();
    this.#tell();
  }
}
