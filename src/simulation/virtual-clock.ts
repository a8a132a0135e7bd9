import type { Clock } from '../../src/types/clock.ts';

/** What a timer of Node can hold; beyond it, it fires at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

interface Deadline {
  readonly handle: number;
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to go on. */
export class VirtualClock implements Clock {
  #now: number;
  #lastHandle = 0;
  readonly #deadlines = new Map<number, Deadline>();

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimeout(callback: () => void, delayMs: number): number {
    if (!(delayMs <= MAX_DELAY_MS)) throw new RangeError(`a timer cannot wait ${delayMs} ms`);
    const handle = ++this.#lastHandle;
    this.#deadlines.set(handle, { handle, at: this.#now + Math.max(0, delayMs), callback });
    return handle;
  }

  clearTimeout(handle: NodeJS.Timeout | number): void {
    this.#deadlines.delete(handle as number);
  }

  /** How many timers are armed. */
  get armed(): number {
    return this.#deadlines.size;
  }

  /** Milliseconds until the next deadline; undefined when nothing is armed. */
  get nextInMs(): number | undefined {
    const next = this.#next();
    return next && next.at - this.#now;
  }

  /**
   * Lets time pass, with a stop at each deadline, also those that come up on the way; the earliest first, and of equal
   * ones the one armed first. Before the first and after each, what can go on by itself gets its turn.
   */
  async advance(delayMs: number): Promise<void> {
    const end = this.#now + delayMs;
    await settled();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#now = next.at;
      this.#deadlines.delete(next.handle);
      next.callback();
      await settled();
    }
    this.#now = end;
  }

  #next(): Deadline | undefined {
    return [...this.#deadlines.values()].reduce<Deadline | undefined>(
      (first, deadline) => (first === undefined || deadline.at < first.at ? deadline : first),
      undefined,
    );
  }
}

/** Resolves once every promise that could go on by itself has done so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
