/**
 * Lets few calls to plugins begin at once: there may be hundreds of plugins, and each call costs the event loop about a millisecond. One
 * that is not answered soon gives its place up and goes on, so that a plugin that hangs holds up no other.
 */
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';

/** As long as a plugin that listens takes to answer. */
const PLACE_MS = 100;

export class StaggeredQueue {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #places: number;

  constructor(clock: Clock, atOnce: number) {
    this.#clock = clock;
    this.#places = atOnce;
  }

  /** Begins at once where there is a place. Rejects with the signal's reason where it aborts before. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    const begin = () => {
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return;
      this.#places -= 1;
      const timer = new Timer(this.#clock);
      let hasPlace = true;
      const leave = () => {
        timer.disarm();
        if (!hasPlace) return;
        hasPlace = false;
        this.#places += 1;
        this.#next();
      };
      timer.arm(PLACE_MS, leave);
      work().then(resolve, reject).finally(leave);
    };
    this.#waiting.push(begin);
    this.#next();
    return promise;
  }

  #next(): void {
    while (this.#places > 0) {
      const begin = this.#waiting.shift();
      if (begin === undefined) return;
      begin();
    }
  }
}
