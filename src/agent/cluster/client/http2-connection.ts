import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { StateletError } from '../../../types/errors.ts';
import {
  type HttpAnswer,
  type HttpConnection,
  type HttpRequest,
  NotSentError,
  StaleConnectionError,
} from './http-request.ts';
import { CUT } from './read-answer.ts';

/** Until the server has sent its limit. */
const STREAMS_BEFORE_SETTINGS = 100;
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const SESSION_WINDOW_BYTES = 64 * 1024 * 1024;
const SESSION_MEMORY_MB = 1024;

export interface PingOptions {
  /** After so long without a byte from the peer it is pinged. */
  readonly pingAfterMs: number;
  /** A peer that does not answer a ping in this time is dead: all requests fail. */
  readonly pingTimeoutMs: number;
}

/** One connection that speaks HTTP/2. */
export class Http2Connection implements HttpConnection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #options: PingOptions;
  readonly #timer: NodeJS.Timeout;
  #streams = 0;
  /** Once something has been answered. */
  #hasServed = false;
  #bytesRead = 0;
  /** Runs while a ping waits for its answer. */
  #pingTimer: NodeJS.Timeout | undefined;
  /** Set when the peer does not answer a ping. */
  #death: StateletError | undefined;

  constructor(socket: Socket, server: URL, options: PingOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#session = connect(server.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MB,
    });
    this.#session.once('connect', () => this.#session.setLocalWindowSize(SESSION_WINDOW_BYTES));
    // The requests fail too, each with its own error.
    this.#session.on('error', () => undefined);
    this.#session.once('close', () => {
      clearInterval(this.#timer);
      clearTimeout(this.#pingTimer);
    });
    this.#timer = setInterval(() => this.#look(), options.pingAfterMs);
  }

  get isClosed(): boolean {
    return this.#session.destroyed || this.#session.closed;
  }

  get isUsable(): boolean {
    if (this.isClosed) return false;
    const limit = this.#session.remoteSettings.maxConcurrentStreams;
    // Before the server's settings have come, this is the largest number that there is.
    const max = limit === undefined || limit > 0x7fffffff ? STREAMS_BEFORE_SETTINGS : limit;
    return this.#streams < max;
  }

  async request({ method, path, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const stream = this.#open(
      { ...headers, [constants.HTTP2_HEADER_METHOD]: method, [constants.HTTP2_HEADER_PATH]: path },
      body === undefined,
    );
    this.#streams += 1;
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    let isAnswered = false;
    stream.once('response', ({ [constants.HTTP2_HEADER_STATUS]: status = 0, ...rest }) => {
      isAnswered = true;
      this.#hasServed = true;
      resolve({ status: Number(status), headers: rest, body: stream });
    });
    stream.once('error', (error: Error) => reject(this.#unanswered(stream, error)));
    const abort = () => {
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy(signal.reason as Error);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    stream.once('close', () => {
      this.#streams -= 1;
      signal.removeEventListener('abort', abort);
      // The error is made only where it is needed: to make one is slow, and most streams end with an answer.
      if (!isAnswered) reject(this.#unanswered(stream));
    });
    // A connection that breaks without an error would end the body as if it were whole.
    stream.once('aborted', () => stream.destroy(this.#death ?? new Error(CUT)));
    if (body !== undefined) stream.end(body);
    return promise;
  }

  retire(): void {
    this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
  }

  #open(headers: Record<string, string | string[]>, endStream: boolean): ClientHttp2Stream {
    try {
      return this.#session.request(headers, { endStream });
    } catch (error) {
      // The connection was closed a moment ago.
      throw new NotSentError('the connection was closed', { cause: error });
    }
  }

  /** Why there is not even the head of an answer. */
  #unanswered(stream: ClientHttp2Stream, error?: Error): Error {
    if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM)
      return new NotSentError('the server takes no more requests on this connection', { cause: error });
    if (this.#death !== undefined) return this.#death;
    // Only a connection that has been used before can have been closed by the server meanwhile.
    if (this.#session.destroyed && this.#hasServed)
      return new StaleConnectionError(error?.message ?? CUT, { cause: error });
    return error ?? new Error(CUT);
  }

  #look(): void {
    const { bytesRead } = this.#socket;
    if (bytesRead === this.#bytesRead && this.#pingTimer === undefined && !this.#session.destroyed)
      this.#ping();
    this.#bytesRead = bytesRead;
  }

  #ping(): void {
    // An answer that came while this process was busy is read before the connection is closed.
    const giveUp = () => setImmediate(() => this.#giveUp());
    this.#pingTimer = setTimeout(giveUp, this.#options.pingTimeoutMs);
    this.#session.ping((error) => {
      if (error !== null) return;
      clearTimeout(this.#pingTimer);
      this.#pingTimer = undefined;
    });
  }

  #giveUp(): void {
    if (this.#pingTimer === undefined || this.#session.destroyed) return;
    const problem = `no answer to a ping in ${this.#options.pingTimeoutMs / 1000} s: the connection is dead`;
    this.#death = new StateletError('Unavailable', problem);
    this.#session.destroy(this.#death);
  }
}
