import { Socket } from 'node:net';
import { onceStill } from '../../agent/runtime/service/runtime-service.ts';
import { StateletError } from '../../types/errors.ts';

/** A client with more unread bytes makes the container wait. */
const BEHIND_BYTES = 1024 * 1024;
/** How long a container waits for a client that reads nothing. */
const PATIENCE_MS = 10_000;

/** The copy of a container's output that one attached client gets, over a named pipe. */
export class OutputCopy {
  /** Resolves when all output is written and the pipe is closed; rejects if the client was cut off. */
  readonly ended: Promise<void>;
  readonly #pipe: Socket;
  #tooSlow = false;

  /** Becomes the owner of the descriptor, which does not block. Output is kept until the client has opened its end. */
  constructor(fd: number) {
    this.#pipe = new Socket({ fd, readable: false, writable: true });
    this.#pipe.cork();
    // An error (the client is gone) is followed by close.
    this.#pipe.on('error', () => undefined);
    this.ended = new Promise((resolve, reject) => {
      this.#pipe.once('close', () => (this.#tooSlow ? reject(tooSlow()) : resolve()));
    });
    this.ended.catch(() => undefined);
  }

  clientIsOpen(): void {
    this.#pipe.uncork();
  }

  write(chunk: Buffer): void {
    if (this.#pipe.writable) this.#pipe.write(chunk);
  }

  /** Whether the client has much to read; `caughtUp` resolves when it has read all, or was cut off. */
  get behind(): boolean {
    return !this.#pipe.destroyed && this.#pipe.writableLength > BEHIND_BYTES;
  }

  async caughtUp(): Promise<void> {
    if (!this.behind) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stopWaiting();
        this.#pipe.off('drain', done).off('close', done);
        resolve();
      };
      // A slow client makes the container slow, as with other runtimes: all that it writes is read.
      const progress = () => this.#pipe.writableLength;
      const stopWaiting = onceStill({ progress, stillMs: PATIENCE_MS }, () => {
        this.#tooSlow = true;
        this.#pipe.destroy();
      });
      this.#pipe.once('drain', done).once('close', done);
    });
  }

  /** No more output comes. */
  end(): void {
    this.#pipe.end();
  }

  /** The client is gone. */
  destroy(): void {
    this.#pipe.destroy();
  }
}

const tooSlow = (): StateletError =>
  new StateletError(
    'ResourceExhausted',
    `the attached client read nothing of the container's output for ${PATIENCE_MS / 1000} s and was cut off: containers do ` +
      'not wait longer for a client',
  );
