import { Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';

/** How long a small change waits for the next one. */
const DELAY_MS = 1_000;

interface Delayed {
  readonly version: number;
  /** Unix ms. */
  readonly until: number;
}

/** Versions of statuses that are written only if no other version follows soon. */
export class DelayedVersions {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  readonly #timer: Timer;
  /** By UID of the pod. All wait equally long: the first is due first. */
  readonly #delayed = new Map<string, Delayed>();

  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#timer = new Timer(clock);
  }

  add(uid: string, version: number): void {
    this.#delayed.delete(uid);
    this.#delayed.set(uid, { version, until: this.#clock.now() + DELAY_MS });
    if (this.#delayed.size === 1) this.#arm(DELAY_MS);
  }

  has(uid: string, version: number): boolean {
    return this.#delayed.get(uid)?.version === version;
  }

  clear(): void {
    this.#timer.disarm();
    this.#delayed.clear();
  }

  #arm(delayMs: number): void {
    this.#timer.arm(delayMs, () => this.#due());
  }

  #due(): void {
    const now = this.#clock.now();
    for (const [uid, { until }] of this.#delayed) {
      if (until > now) {
        this.#arm(until - now);
        break;
      }
      this.#delayed.delete(uid);
    }
    this.#onDue();
  }
}
