import TinyQueue from 'tinyqueue';
import type { Clock } from '../types/clock.ts';
import { Timer } from './timer.ts';

interface Due {
  readonly key: string;
  readonly at: number;
}

/**
 * Keys, each with the time at which it is due. One timer is armed for the earliest, none where nothing is due. An entry that was replaced or
 * cancelled stays in the queue until it comes first, and is dropped then.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #onDue: (keys: readonly string[]) => void;
  readonly #current = new Map<string, Due>();
  readonly #queue = new TinyQueue<Due>([], (a, b) => a.at - b.at);
  readonly #timer: Timer;
  /** Unix ms; undefined while the timer is not armed. */
  #armedAt: number | undefined;
  #stopped = false;

  constructor(clock: Clock, onDue: (keys: readonly string[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#timer = new Timer(clock);
  }

  /** It is due in `delayMs`, whatever was planned for the key before. */
  enqueue(key: string, delayMs: number): void {
    if (this.#stopped) return;
    const due = { key, at: this.#clock.now() + delayMs };
    this.#current.set(key, due);
    this.#queue.push(due);
    this.#arm();
  }

  /** In Unix milliseconds; undefined where nothing is due for the key. */
  dueAt(key: string): number | undefined {
    return this.#current.get(key)?.at;
  }

  cancel(key: string): void {
    this.#current.delete(key);
    this.#arm();
  }

  /** Nothing is due any more, also nothing that is planned after this. */
  stop(): void {
    this.#stopped = true;
    this.#current.clear();
    this.#arm();
  }

  #fire(): void {
    this.#armedAt = undefined;
    const now = this.#clock.now();
    const keys: string[] = [];
    for (let due = this.#queue.peek(); due !== undefined && due.at <= now; due = this.#queue.peek()) {
      this.#queue.pop();
      if (this.#current.get(due.key) !== due) continue;
      this.#current.delete(due.key);
      keys.push(due.key);
    }
    this.#arm();
    if (keys.length > 0) this.#onDue(keys);
  }

  #arm(): void {
    this.#dropSuperseded();
    const next = this.#queue.peek();
    if (next?.at === this.#armedAt) return;
    this.#armedAt = next?.at;
    if (next === undefined) this.#timer.disarm();
    else this.#timer.arm(Math.max(0, next.at - this.#clock.now()), () => this.#fire());
  }

  #dropSuperseded(): void {
    for (let due = this.#queue.peek(); due !== undefined; due = this.#queue.peek()) {
      if (this.#current.get(due.key) === due) return;
      this.#queue.pop();
    }
  }
}
