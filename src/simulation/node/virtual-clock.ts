import TinyQueue from 'tinyqueue';
import { type Clock, MAX_TIMER_MS, type TimerHandle } from '../../types/clock.ts';

/** Below this many, timers that were cleared are not worth sweeping away. */
const MIN_SWEEP = 1_000;

interface Deadline {
  /** Counts up: of equal times the one armed first comes first. Below 0 for what comes before every timer of its time. */
  readonly handle: number;
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to go on. */
export class VirtualClock implements Clock {
  #now: number;
  #lastHandle = 0;
  #lastEarlyHandle = Number.MIN_SAFE_INTEGER;
  readonly #armed = new Map<number, Deadline>();
  /** A timer that was cleared stays here until it comes first, or there are too many of them. */
  #queue = new TinyQueue<Deadline>([], inOrder);

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** As with Node, time goes by in whole milliseconds. */
  setTimeout(callback: () => void, delayMs: number): number {
    if (!(delayMs <= MAX_TIMER_MS)) throw new RangeError(`a timer cannot wait ${delayMs} ms`);
    const handle = ++this.#lastHandle;
    this.#arm({ handle, at: this.#now + Math.ceil(Math.max(0, delayMs)), callback });
    return handle;
  }

  /** At that time, however far away it is, before every timer that is due then. */
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
   * Lets time pass, with a stop at each deadline, also those that come up on the way; the earliest first, and of equal
   * ones the one armed first. Before the first and after each, what can go on by itself gets its turn.
   */
  async advance(delayMs: number): Promise<void> {
    const end = this.#now + delayMs;
    await settled();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next())
      await this.#reach(next);
    this.#now = end;
  }

  /** Lets time pass until the next deadline alone: others of the same moment are still to come. */
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

/** What one agent knows of a clock: nothing it has armed fires any more once it is dead. */
export class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #armed = new Set<TimerHandle>();
  #dead = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  setTimeout(callback: () => void, delayMs: number): TimerHandle {
    if (this.#dead) return 0;
    const handle = this.#clock.setTimeout(() => {
      this.#armed.delete(handle);
      callback();
    }, delayMs);
    this.#armed.add(handle);
    return handle;
  }

  clearTimeout(handle: TimerHandle): void {
    if (this.#armed.delete(handle)) this.#clock.clearTimeout(handle);
  }

  /** From now on nothing is armed, and nothing fires. */
  die(): void {
    this.#dead = true;
    for (const handle of this.#armed) this.#clock.clearTimeout(handle);
    this.#armed.clear();
  }
}

/** Resolves once every promise that could go on by itself has done so. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
