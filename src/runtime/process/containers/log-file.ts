import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, write } from 'node:fs';
import { dirname } from 'node:path';

/** Above this much unwritten text the source has to wait. */
const BEHIND_BYTES = 256 * 1024;

/**
 * A log file that is appended to. Text that comes while a write is under way is gathered and written at once. A write
 * that fails (a full disk, most often) loses its text and nothing else: a line is there whole or not at all.
 */
export class LogFile {
  readonly #path: string;
  #fd: number;
  readonly #onTrouble: (error: Error) => void;
  #queue: string[] = [];
  #queuedBytes = 0;
  #writing = false;
  #torn = false;
  #troubled = false;
  #idleWaiters: (() => void)[] = [];
  #writeWaiters: (() => void)[] = [];

  /** Creates file and folder where needed; throws the system's error. `onTrouble` is called for the first failure. */
  constructor(path: string, onTrouble: (error: Error) => void) {
    this.#path = path;
    this.#fd = open(path);
    this.#onTrouble = onTrouble;
  }

  /** Whether more has been appended than written for some time; `whenIdle` tells when it is over. */
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

  /** Resolves when everything appended has been written or lost. */
  whenIdle(): Promise<void> {
    if (!this.#writing) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /**
   * Goes on in a new file where this one has been moved away; resolves when nothing is written to the old one any more.
   * Throws the system's error, and stays with the old one, when there cannot be a new one.
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
    // A failed write has left half a line that could not be cut off, and must not swallow the next one.
    const text = (this.#torn ? '\n' : '') + this.#queue.join('');
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#torn = false;
    this.#writing = true;
    this.#write(this.#fd, Buffer.from(text, 'latin1'));
  }

  #write(fd: number, bytes: Buffer, done = 0): void {
    write(fd, bytes, done, (error, written) => {
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

/** Takes the last bytes off a file again; false where that cannot be done. */
function cut(fd: number, bytes: number): boolean {
  try {
    ftruncateSync(fd, fstatSync(fd).size - bytes);
    return true;
  } catch {
    return false;
  }
}

function open(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  return openSync(path, 'a', 0o640);
}
