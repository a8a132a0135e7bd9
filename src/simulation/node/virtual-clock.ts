import TinyQueue from 'tinyqueue';
import { type Clock, MAX_TIMER_MS, type TimerHandle } from '../../types/clock.ts';

/** At most about this many cleared timers stay in the queue. */
const MIN_SWEEP = 1_000;

interface Deadline {
  /** Counts up: of two deadlines at the same time, the one armed first comes first. Below 0: before all timers of that time. */
  readonly handle: number;
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test or a simulation advances it. */
export class VirtualClock implements Clock {
  #now: number;
  #lastHandle = 0;
  #lastEarlyHandle = Number.MIN_SAFE_INTEGER;
  readonly #armed = new Map<number, Deadline>();
  /** A cleared timer stays here until it would be due, or until there are too many of them. */
  #queue = new TinyQueue<Deadline>([], inOrder);

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** Like Node's timers, it counts in whole milliseconds. */
  setTimeout(callback: () => void, delayMs: number): number {
    if (!(delayMs <= MAX_TIMER_MS)) throw new RangeError(`a timer cannot wait ${delayMs} ms`);
    const handle = ++this.#lastHandle;
    this.#arm({ handle, at: this.#now + Math.ceil(Math.max(0, delayMs)), callback });
    return handle;
  }

  /** Runs the callback at that time, before all timers that are due then. The time may be further away than a timer can be. */
  beforeTimersAt(at: number, callback: () => void): void {
    this.#arm({ handle: ++this.#lastEarlyHandle, at: Math.max(this.#now, at), callback });
  }

  clearTimeout(handle: TimerHandle): void {
    this.#armed.delete(handle as number);
    if (this.#queue.length > MIN_SWEEP + 2 * this.#armed.size) {
      this.#queue = new TinyQueue([...this.#armed.values()], inOrder);
    }
  }

  /** How many timers are armed. */
  get armed(): number {
    return this.#armed.size;
  }

  /** Milliseconds until the next deadline; undefined when nothing is armed. */
  get nextInMs(): number | undefined {
    const next = this.#next();
    return next && next.at - this.#now;
  }

  /**
   * Lets time pass. Timers fire in the order of their deadlines, also timers that are armed on the way; of two timers with the
   * same deadline, the one armed first fires first. Before the first timer and after each one, all pending promises go on.
   */
  async advance(delayMs: number): Promise<void> {
    const end = this.#now + delayMs;
    await settled();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next())
      await this.#reach(next);
    this.#now = end;
  }

  /** Lets time pass until the next timer has fired. Other timers of the same time do not fire yet. */
  async step(): Promise<void> {
    await settled();
    const next = this.#next();
    if (next !== undefined) await this.#reach(next);
  }

  #arm(deadline: Deadline): void {
    this.#armed.set(deadline.handle, deadline);
    this.#queue.push(deadline);
  }

  async #reach({ at, handle, callback }: Deadline): Promise<void> {
    this.#now = at;
    this.#armed.delete(handle);
    callback();
    await settled();
  }

  #next(): Deadline | undefined {
    for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
      if (this.#armed.has(next.handle)) return next;
      this.#queue.pop();
    }
    return undefined;
  }
}

const inOrder = (a: Deadline, b: Deadline): number => a.at - b.at || a.handle - b.handle;

/** Resolves when all promises that do not wait for a timer or for I/O have settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
