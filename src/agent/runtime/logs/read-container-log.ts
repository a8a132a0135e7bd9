import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type LogPiece, LogPieces } from '../../policies/logs/log-message.ts';
import { LogView, type LogViewOptions } from '../../policies/logs/log-view.ts';
import { sleep, Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import { StateletError } from '../../../types/errors.ts';
import { LogFile, openLog } from './container-log-file.ts';

export interface LogReading {
  readonly path: string;
  readonly options: LogViewOptions;
  /** Whether more may be written to the log. It is asked only to follow the log. */
  readonly isRunning: () => boolean;
  /** Nothing more is read before it resolves. Then the bytes are overwritten. */
  readonly write: (output: Buffer) => Promise<void>;
  readonly clock: Clock;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

const CHUNK_BYTES = 128 * 1024;
const LOOK_PERIOD_MS = 1000;

/**
 * Reads a container's log as the kubelet does: only its newest file; one that is rotated meanwhile is read to its end. Needs the same
 * memory for a log of any size. Rejects with a StateletError that has the kubelet's words, or with the reason of `signal`. `NotFound`: there
 * is no log, and nothing has been written.
 */
export async function readContainerLog(reading: LogReading): Promise<void> {
  const { file, path } = await openLog(reading.path);
  const reader = new Reader(reading, path, file);
  try {
    await reader.run();
  } finally {
    await reader.close();
  }
}

class Reader {
  readonly #reading: LogReading;
  readonly #path: string;
  readonly #buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  readonly #batch = new OutputBatch();
  readonly #pieces = new LogPieces();
  readonly #view: LogView;
  #file: LogFile;

  constructor(reading: LogReading, path: string, file: LogFile) {
    this.#reading = reading;
    this.#path = path;
    this.#file = file;
    this.#view = new LogView(reading.options, (text) => this.#batch.add(text));
  }

  async run(): Promise<void> {
    const { options, signal } = this.#reading;
    if (options.tailLines !== undefined) await this.#file.seekTail(options.tailLines, signal);
    if (options.follow) await this.#follow();
    else {
      await this.#readOn();
      await this.#show(this.#pieces.end());
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #follow(): Promise<void> {
    const { isRunning, clock, signal } = this.#reading;
    const watch = new FileWatch(this.#path, clock);
    try {
      for (;;) {
        // Asked before the file is read: what the container wrote until its end is read too.
        const isEnding = !isRunning();
        await this.#readOn();
        if (this.#view.isDone) return;
        if (await this.#turnToNewFile(isEnding)) continue;
        if (isEnding) return;
        await watch.next(LOOK_PERIOD_MS, signal);
      }
    } finally {
      watch.close();
    }
  }

  /** Reads to the end of the file. */
  async #readOn(): Promise<void> {
    while (!this.#view.isDone) {
      this.#reading.signal.throwIfAborted();
      const chunk = await this.#file.read(this.#buffer);
      if (chunk.length === 0) return;
      await this.#show(this.#pieces.push(chunk.toString('latin1')));
    }
  }

  async #show(pieces: Iterable<LogPiece>): Promise<void> {
    for (const piece of pieces) {
      if (this.#view.isDone) break;
      this.#view.take(piece);
    }
    const output = this.#batch.take();
    if (output) await this.#reading.write(output);
    if (this.#view.problem !== undefined) throw new StateletError('FailedPrecondition', this.#view.problem);
  }

  /** True where the file at the path has to be read from its beginning. */
  async #turnToNewFile(isEnding: boolean): Promise<boolean> {
    const change = await this.#file.change();
    if (change === 'same') return false;
    // The runtime opens the new file first, and writes to the old one until then.
    if (change === 'replaced by an empty file' && !isEnding) return false;
    if (change === 'truncated') this.#file.rewind();
    else {
      await this.#readOn();
      if (!(await this.#openAgain())) return false;
    }
    this.#pieces.reset();
    return true;
  }

  /** False where the file is gone meanwhile: it may be rotated again. */
  async #openAgain(): Promise<boolean> {
    try {
      const next = await LogFile.open(this.#path);
      await this.#file.close();
      this.#file = next;
      return true;
    } catch (error) {
      if (error instanceof StateletError && error.kind === 'NotFound') return false;
      throw error;
    }
  }
}

/** Collects small pieces of output, so that they are sent together. */
class OutputBatch {
  #text = '';
  #buffer = Buffer.alloc(0);

  /** One character per byte. */
  add(text: string): void {
    this.#text += text;
  }

  /** Valid until the next call; undefined: there is none. */
  take(): Buffer | undefined {
    const text = this.#text;
    if (text === '') return undefined;
    this.#text = '';
    if (text.length > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(text.length);
    return this.#buffer.subarray(0, this.#buffer.write(text, 'latin1'));
  }
}

/** A file that is written all the time is looked at no more often than that. */
const PAUSE_MS = 20;

/** Says when to look at a file again: at an event of the kernel, and after a period in any case. */
class FileWatch {
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
