import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { sleep, Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';

/** A file that is written all the time is looked at no more often than that. */
const PAUSE_MS = 20;

/** Says when to look at a file again: at an event of the kernel, and after a period in any case. */
export class FileWatch {
  readonly #clock: Clock;
  readonly #timer: Timer;
  #watcher: FSWatcher | undefined;
  #hasChanged = false;
  #lookedAt = -Infinity;
  #wake: (() => void) | undefined;

  /** Watches the folder of the file, which sees another file put in its place. Where there are no watches left, only the period counts. */
  constructor(path: string, clock: Clock) {
    this.#clock = clock;
    this.#timer = new Timer(clock);
    const name = basename(path);
    try {
      this.#watcher = watch(dirname(path), (_, file) => {
        if (file === null || file === name) this.#note();
      }).on('error', () => this.#watcher?.close());
    } catch {
      this.#watcher = undefined;
    }
  }

  /** Resolves when the file has changed since the last call, or after the period. Rejects when `signal` aborts. */
  async next(periodMs: number, signal: AbortSignal): Promise<void> {
    const early = this.#lookedAt + PAUSE_MS - this.#clock.now();
    if (early > 0) await sleep(this.#clock, Math.min(early, PAUSE_MS), signal);
    if (!this.#hasChanged) await this.#changeWithin(periodMs, signal);
    this.#hasChanged = false;
    this.#lookedAt = this.#clock.now();
  }

  close(): void {
    this.#watcher?.close();
  }

  #note(): void {
    this.#hasChanged = true;
    this.#wake?.();
  }

  async #changeWithin(periodMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const abort = () => reject(signal.reason as Error);
    this.#wake = () => resolve(undefined);
    signal.addEventListener('abort', abort, { once: true });
    this.#timer.arm(periodMs, this.#wake);
    try {
      await promise;
    } finally {
      this.#timer.disarm();
      this.#wake = undefined;
      signal.removeEventListener('abort', abort);
    }
  }
}
