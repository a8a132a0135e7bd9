import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';

/** How long a small change waits for the next one. */
const HELD_BACK_MS = 1_000;

interface Held {
  readonly version: number;
  /** Unix ms. */
  readonly until: number;
}

/** Versions of statuses that are written only if no other version follows soon. */
export class HeldBack {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  readonly #timer: Timer;
  /** By UID of the pod. All wait equally long: the first is due first. */
  readonly #held = new Map<string, Held>();

  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#timer = new Timer(clock);
  }

  add(uid: string, version: number): void {
    this.#held.delete(uid);
    this.#held.set(uid, { version, until: this.#clock.now() + HELD_BACK_MS });
    if (this.#held.size === 1) this.#arm(HELD_BACK_MS);
  }

  has(uid: string, version: number): boolean {
    return this.#held.get(uid)?.version === version;
  }

  clear(): void {
    this.#timer.disarm();
    this.#held.clear();
  }

  #arm(delayMs: number): void {
    this.#timer.arm(delayMs, () => this.#due());
  }

  #due(): void {
    const now = this.#clock.now();
    for (const [uid, { until }] of this.#held) {
      if (until > now) {
        this.#arm(until - now);
        break;
      }
      this.#held.delete(uid);
    }
    this.#onDue();
  }
}
