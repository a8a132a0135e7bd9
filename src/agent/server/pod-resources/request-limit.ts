/** As the kubelet limits it: over all clients and methods. */
const PER_SECOND = 100;
const BURST = 10;

/** How many requests are answered; the others are refused at once. */
export class RequestLimit {
  readonly #now: () => number;
  #left = BURST;
  #filledAt: number;

  /** `now`: Unix ms. */
  constructor(now: () => number) {
    this.#now = now;
    this.#filledAt = now();
  }

  /** Whether one more request is answered. */
  takes(): boolean {
    const now = this.#now();
    // A clock that was set back adds nothing.
    const added = (Math.max(0, now - this.#filledAt) / 1000) * PER_SECOND;
    this.#left = Math.min(BURST, this.#left + added);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
