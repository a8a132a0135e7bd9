import { Socket } from 'node:net';
import { Writable } from 'node:stream';

/**
 * The client's end of a standard input. What comes after the command has closed its end is dropped, as it is with other
 * runtimes. Without a descriptor, everything is dropped.
 */
export class InputStream extends Writable {
  readonly #pipe: Socket | undefined;

  /** Becomes the owner of the descriptor, which does not block. */
  constructor(fd: number | undefined) {
    super();
    this.#pipe = fd === undefined ? undefined : new Socket({ fd, readable: false, writable: true });
    this.#pipe?.on('error', () => undefined);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // A failed write is followed by the end of the command, or it does not read: neither is an error of the client.
    if (this.#pipe?.writable) this.#pipe.write(chunk, () => done());
    else done();
  }

  override _final(done: () => void): void {
    // All that was written is in the pipe.
    if (this.#pipe && !this.#pipe.destroyed) this.#pipe.once('close', () => done()).destroy();
    else done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#pipe?.destroy();
    done(error);
  }
}
