import TinyQueue from 'tinyqueue';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';

interface Due {
  readonly uid: string;
  readonly at: number;
}

/**
 * The times of the next syncs. One timer is armed for the earliest. An entry that was replaced or cancelled stays in the queue
 * until it comes first, and is dropped then.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #onDue: (uids: readonly string[]) => void;
  readonly #current = new Map<string, Due>();
  readonly #queue = new TinyQueue<Due>([], (a, b) => a.at - b.at);
  readonly #timer: Timer;
  /** Unix ms; undefined while the timer is not armed. */
  #armedAt: number | undefined;
  #stopped = false;

  constructor(clock: Clock, onDue: (uids: readonly string[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#timer = new Timer(clock);
  }

  /** The pod is due in `delayMs`, whatever was planned before. */
  enqueue(uid: string, delayMs: number): void {
    if (this.#stopped) return;
    const due = { uid, at: this.#clock.now() + delayMs };
    this.#current.set(uid, due);
    this.#queue.push(due);
    this.#arm();
  }

  cancel(uid: string): void {
    this.#current.delete(uid);
    this.#arm();
  }

  /** No sync is due any more, also none that an effect plans after this. */
  stop(): void {
    this.#stopped = true;
    this.#current.clear();
    this.#arm();
  }

  #fire(): void {
    this.#armedAt = undefined;
    const now = this.#clock.now();
    const uids: string[] = [];
    for (let due = this.#queue.peek(); due !== undefined && due.at <= now; due = this.#queue.peek()) {
      this.#queue.pop();
      if (this.#current.get(due.uid) !== due) continue;
      this.#current.delete(due.uid);
      uids.push(due.uid);
    }
    this.#arm();
    if (uids.length > 0) this.#onDue(uids);
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
      if (this.#current.get(due.uid) === due) return;
      this.#queue.pop();
    }
  }
}
