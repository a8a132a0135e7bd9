import { Duplex } from 'node:stream';
import type { SpdyHeaders } from './spdy-headers.ts';

/** What a stream asks of its connection. */
export interface StreamCarrier {
  sendData(streamId: number, chunk: Buffer | undefined, done: (error?: Error | null) => void): void;
  /** Called when both directions have ended, or the stream was aborted. */
  leave(stream: SpdyStream): void;
}

/** One stream of a SPDY connection. Its two directions end independently of each other. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** Resolves when the peer has accepted or refused the stream, or the connection has ended. */
  readonly answered: Promise<unknown>;
  readonly #carrier: StreamCarrier;
  /** Set while the peer may not send: the reader is behind. */
  #resume: (() => void) | undefined;
  #hasFin = false;
  #isAborted = false;
  #accepted: (() => void) | undefined;
  #answer: () => void;
  #awaitsReply: boolean;

  /** `awaitsReply`: nothing is sent before the peer has accepted the stream: what comes earlier it would drop. */
  constructor(id: number, headers: SpdyHeaders, carrier: StreamCarrier, awaitsReply: boolean) {
    super({ allowHalfOpen: true, emitClose: true });
    this.id = id;
    this.headers = headers;
    this.#carrier = carrier;
    this.#awaitsReply = awaitsReply;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.answered = promise;
    this.#answer = () => resolve(undefined);
    if (!awaitsReply) resolve(undefined);
  }

  /** Whether the peer knows of the end of both directions. */
  get isFinished(): boolean {
    return this.#isAborted || (this.#hasFin && this.writableFinished);
  }

  /** To be called when the peer has accepted the stream. */
  accept(): void {
    const accepted = this.#accepted;
    this.#awaitsReply = false;
    this.#accepted = undefined;
    this.#answer();
    accepted?.();
  }

  /** To be called when the peer has reset the stream, or the connection has ended. */
  abort(): void {
    this.#isAborted = true;
    // What has come is still read: Go resets a stream right after its last data.
    if (this.readableLength > 0) {
      if (!this.#hasFin) this.push(null);
      this.#hasFin = true;
      this.once('end', () => this.destroy());
    } else if (!this.#hasFin || this.readableEnded) this.destroy();
    else this.once('end', () => this.destroy());
    // A stream that waits to be accepted is destroyed only after that.
    this.accept();
  }

  /** Takes a piece of data from the peer. A promise: the reader is behind, read no further before it resolves. */
  receive(chunk: Buffer, fin: boolean): Promise<void> | undefined {
    if (this.destroyed || this.#hasFin) return undefined;
    const mayGoOn = chunk.length === 0 || this.push(chunk);
    if (fin) {
      this.#hasFin = true;
      this.push(null);
    }
    if (mayGoOn || fin) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  override _construct(callback: (error?: Error | null) => void): void {
    if (this.#awaitsReply) this.#accepted = callback;
    else callback();
  }

  override _read(): void {
    this.#goOn();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#sendData(chunk, done);
  }

  override _final(done: () => void): void {
    this.#sendData(undefined, done);
  }

  /** Data that the peer no longer takes is dropped without an error, which would also discard what the peer has sent and nobody has read. */
  #sendData(chunk: Buffer | undefined, done: () => void): void {
    if (this.#isAborted) {
      done();
      return;
    }
    this.#carrier.sendData(this.id, chunk, (error) => {
      if (error != null) this.abort();
      done();
    });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#goOn();
    this.#carrier.leave(this);
    done(error);
  }

  #goOn(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }
}
