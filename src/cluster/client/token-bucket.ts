import { sleep } from '../../system/sleep.ts';
import type { Clock } from '../../types/clock.ts';

export interface RateLimit {
  readonly perSecond: number;
  /** So many at once after a pause. */
  readonly burst: number;
}

/** Limits how often something happens. Each caller gets a token, in the order in which they came. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  /** Below zero: so many tokens are promised to callers that wait. */
  #tokens: number;
  #filledAt: number;

  constructor(clock: Clock, limit: RateLimit) {
    this.#clock = clock;
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAt = clock.now();
  }

  /** Resolves when the caller has its token. A caller whose signal aborts gives its token back. */
  async take(signal: AbortSignal): Promise<void> {
    this.#fill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await sleep(this.#clock, (-this.#tokens / this.#limit.perSecond) * 1000, signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }

  #fill(): void {
    const now = this.#clock.now();
    // A clock that was set back adds nothing.
    const added = (Math.max(0, now - this.#filledAt) / 1000) * this.#limit.perSecond;
    this.#tokens = Math.min(this.#limit.burst, this.#tokens + added);
    this.#filledAt = now;
  }
}
