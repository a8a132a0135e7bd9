import { Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { onceStill } from '../../service/stillness.ts';

/** How long output is awaited after the command's end: a process that it left running may hold the pipe open. */
const DRAIN_MS = 1000;

/** The client's end of an output pipe. */
export class OutputStream {
  readonly stream: Readable;
  /** Resolves when no output comes any more and all that came has been read, or the stream was destroyed. */
  readonly ended: Promise<void>;
  readonly #pipe: Socket;
  readonly #through = new PassThrough();
  #stopWaiting: () => void = () => undefined;

  /** Becomes the owner of the descriptor, which does not block. */
  constructor(fd: number) {
    this.stream = this.#through;
    this.#pipe = new Socket({ fd, readable: true, writable: false });
    this.#pipe.on('error', () => undefined);
    this.#pipe.pipe(this.#through);
    this.#through.once('close', () => this.#release());
    this.ended = new Promise((resolve) => {
      this.#through.once('end', resolve).once('close', resolve);
      this.#pipe.once('close', () => {
        this.#through.end();
        // A stream without data does not tell its end to a client that does not read it.
        if (this.#through.readableLength + this.#through.writableLength === 0) resolve();
      });
    });
  }

  /** The command has ended: what it wrote is read, but no process that it has left is waited for. */
  commandEnded(): void {
    if (this.#pipe.destroyed) return;
    const progress = () => this.#pipe.bytesRead;
    const isHeld = () => this.#through.writableNeedDrain;
    this.#stopWaiting = onceStill({ progress, isHeld, stillMs: DRAIN_MS }, () => this.#pipe.destroy());
  }

  /** What has not been read from the pipe yet is lost. */
  end(): void {
    this.#pipe.destroy();
  }

  destroy(): void {
    this.#through.destroy();
  }

  #release(): void {
    this.#stopWaiting();
    this.#pipe.destroy();
  }
}
