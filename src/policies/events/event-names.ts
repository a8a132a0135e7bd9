import { eventName } from './event-correlation.ts';

const NANOSECONDS_PER_MS = 1_000_000n;

/** Names for event objects. Two events of one millisecond get different names. */
export class EventNames {
  #last = 0n;

  /** `otherwise` makes a name where the usual one is none; it gets the nanoseconds of the usual one. */
  next(objectName: string, unixMs: number, otherwise: (nanoseconds: bigint) => string): string {
    const now = BigInt(Math.floor(unixMs)) * NANOSECONDS_PER_MS;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return eventName(objectName, this.#last, () => otherwise(this.#last));
  }
}
