import { closeSync, constants, fstatSync, ftruncateSync, openSync, write } from 'node:fs';
import { dirname } from 'node:path';
import { StateletError } from '../../types/errors.ts';
import { makeFolderSync } from '../../system/make-folder.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** As `write` of `node:fs`. */
type WriteTo = (
  fd: number,
  bytes: Buffer,
  offset: number,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

/** With more unwritten text than this, the source has to wait. */
const BEHIND_BYTES = 256 * 1024;

/**
 * Appends to a log file. Text that comes during a write is collected, and goes into the next write. If a write fails
 * (most often because the disk is full), its text is lost and nothing else: every line in the file is whole.
 */
export class LogFile {
  readonly #path: string;
  #fd: number;
  readonly #onTrouble: (error: Error) => void;
  readonly #writeTo: WriteTo;
  #queue: string[] = [];
  #queuedBytes = 0;
  #writing = false;
  /** The file ends with half a line. */
  #torn = false;
  #troubled = false;
  #idleWaiters: (() => void)[] = [];
  #writeWaiters: (() => void)[] = [];

  /**
   * Creates file and folder if needed; throws the system's error, and a StateletError for a pipe. `onTrouble` is called for the first write
   * that fails.
   */
  constructor(path: string, onTrouble: (error: Error) => void, writeTo: WriteTo = write) {
    this.#path = path;
    this.#writeTo = writeTo;
    this.#fd = open(path);
    this.#onTrouble = onTrouble;
  }

  /** Whether much text waits to be written; `whenIdle` resolves when none does. */
  get behind(): boolean {
    return this.#queuedBytes > BEHIND_BYTES;
  }

  /** Appends latin1 text. */
  append(text: string): void {
    if (text === '') return;
    this.#queue.push(text);
    this.#queuedBytes += text.length;
    if (!this.#writing) this.#flush();
  }

  /** Resolves when all appended text is written or lost. */
  whenIdle(): Promise<void> {
    if (!this.#writing) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /**
   * Opens the path again, after the file was moved away. Resolves when the last write to the old file is done. Throws
   * the system's error if the path cannot be opened, and then goes on with the old file.
   */
  async reopen(): Promise<void> {
    const old = this.#fd;
    this.#fd = open(this.#path);
    this.#torn = false;
    if (this.#writing) await new Promise<void>((resolve) => this.#writeWaiters.push(resolve));
    closeSync(old);
  }

  async close(): Promise<void> {
    await this.whenIdle();
    closeSync(this.#fd);
  }

  #flush(): void {
    // A failed write has left half a line: the next one must not become a part of it.
    const text = (this.#torn ? '\n' : '') + this.#queue.join('');
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#torn = false;
    this.#writing = true;
    this.#write(this.#fd, Buffer.from(text, 'latin1'));
  }

  #write(fd: number, bytes: Buffer, done = 0): void {
    this.#writeTo(fd, bytes, done, (error, written) => {
      const position = done + (error ? 0 : written);
      if (!error && position < bytes.length) {
        this.#write(fd, bytes, position);
        return;
      }
      if (error) this.#lose(fd, error, bytes.subarray(0, position));
      this.#next();
    });
  }

  #next(): void {
    this.#writing = false;
    for (const resolve of this.#writeWaiters.splice(0)) resolve();
    if (this.#queue.length > 0) this.#flush();
    else for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #lose(fd: number, error: Error, written: Buffer): void {
    const tornBytes = written.length - (written.lastIndexOf(10) + 1);
    if (tornBytes > 0 && !cut(fd, tornBytes)) this.#torn = fd === this.#fd;
    if (this.#troubled) return;
    this.#troubled = true;
    this.#onTrouble(error);
  }
}

/** Removes the last bytes of a file; false if that fails. */
function cut(fd: number, bytes: number): boolean {
  try {
    ftruncateSync(fd, fstatSync(fd).size - bytes);
    return true;
  } catch {
    return false;
  }
}

function open(path: string): number {
  makeFolderSync(dirname(path), 0o755);
  // What a pod has put there must neither lead elsewhere nor hold the monitor up.
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o640);
  if (!fstatSync(fd).isFIFO()) return fd;
  closeSync(fd);
  throw new StateletError('FailedPrecondition', `${path} is not a file but a named pipe`);
}
