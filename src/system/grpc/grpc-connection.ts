/** One connection to a gRPC server, over HTTP/2 without TLS, for methods that are asked once. It is dialed once and never again. */
import { STATUS_CODES } from 'node:http';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { connect as connectSocket, type NetConnectOpts, type Socket } from 'node:net';
import { type ErrorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { unlessAborted } from '../promises.ts';
import { kindOfCode } from './grpc-codes.ts';
import { FrameReader, prefixOf } from './grpc-frames.ts';

export interface GrpcConnectionOptions {
  /** The server's name in requests. */
  readonly authority: string;
  readonly userAgent: string;
  /** A longer answer is an error. */
  readonly answerBytesMax: number;
}

export interface Exchange {
  readonly path: string;
  /** The parts of the message, one after another. */
  readonly request: readonly Uint8Array[];
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** In megabytes: requests that wait for the server count. Node's default is 10. */
const SESSION_MEMORY_MAX = 256;

/** The kind of error of an HTTP status, if the server does not speak gRPC: gRPC's own rules. */
const KIND_OF_HTTP_STATUS: Readonly<Record<number, ErrorKind>> = {
  400: 'Internal',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unimplemented',
  429: 'Unavailable',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

export class GrpcConnection {
  /** Resolves when the server has shown that it speaks HTTP/2. Rejects if the connection ends before. */
  readonly ready: Promise<undefined>;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<undefined>;
  readonly #options: GrpcConnectionOptions;
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  #isReady = false;
  /** Questions without an answer. */
  #underWay = 0;
  /** Why it has ended. */
  #error: Error | undefined;

  constructor(address: NetConnectOpts, options: GrpcConnectionOptions) {
    this.#options = options;
    const socket = connectSocket(address);
    this.#socket = socket;
    this.#session = connect(`http://${options.authority}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
      maxSessionMemory: SESSION_MEMORY_MAX,
    });
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.ready = promise;
    promise.catch(() => undefined);
    const end = Promise.withResolvers<undefined>();
    this.ended = end.promise;
    this.#session
      .once('remoteSettings', () => {
        this.#isReady = true;
        resolve(undefined);
      })
      .on('error', (error: Error) => reject((this.#error = error)))
      .once('close', () => {
        end.resolve(undefined);
        reject(new Error('the connection was closed'));
      });
  }

  /** Whether it can still be asked. */
  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get isIdle(): boolean {
    return this.#underWay === 0;
  }

  /** The message of the answer. Rejects with gRPC's code as the kind, or with the signal's reason as soon as it aborts. */
  async ask(exchange: Exchange): Promise<Buffer> {
    const frames = new FrameReader(this.#options.answerBytesMax);
    let answer: Buffer | undefined;
    await this.follow(exchange, (chunk) => {
      for (const message of frames.take(chunk)) {
        if (answer !== undefined) throw notOne();
        answer = message;
      }
    });
    if (answer === undefined || !frames.isAtEnd) throw notOne();
    return answer;
  }

  /** Passes on each message of the answer. Resolves when the server has ended it well; rejects also with what `onMessage` throws. */
  listen(exchange: Exchange, onMessage: (message: Buffer) => void): Promise<void> {
    const frames = new FrameReader(this.#options.answerBytesMax);
    return this.follow(exchange, (chunk) => frames.take(chunk).forEach(onMessage));
  }

  /** The same with each piece of the answer as it comes, and with the stream, which may be held up. */
  async follow(
    { path, request, signal, headers }: Exchange,
    onChunk: (chunk: Buffer, stream: ClientHttp2Stream) => void,
  ): Promise<void> {
    signal.throwIfAborted();
    if (!this.isOpen) throw this.#broken();
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      ':authority': this.#options.authority,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': this.#options.userAgent,
      ...headers,
    });
    const answer = new Answer();
    const { promise: end, resolve } = Promise.withResolvers<undefined>();
    let failure: Error | undefined;
    stream
      .on('response', (answered: IncomingHttpHeaders) => answer.addHeaders(answered))
      .on('trailers', (answered: IncomingHttpHeaders) => answer.addHeaders(answered))
      .on('data', (chunk: Buffer) => {
        try {
          onChunk(chunk, stream);
        } catch (error) {
          stream.destroy(error as Error);
        }
      })
      .on('error', (error: Error) => void (failure ??= error))
      .once('close', () => resolve(undefined));
    stream.write(prefixOf(request));
    for (const part of request) stream.write(part);
    stream.end();
    this.#underWay += 1;
    try {
      await unlessAborted(end, signal);
      answer.check(this.#error ?? failure);
    } finally {
      this.#underWay -= 1;
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  /** Closes at once, in any state. */
  close(): void {
    this.#error ??= new Error('the connection was closed');
    this.#session.destroy();
    this.#socket.destroy();
  }

  #broken(): StateletError {
    return new StateletError('Unavailable', errorMessage(this.#error ?? 'the connection was closed'));
  }
}

const notOne = (): StateletError =>
  new StateletError('Internal', 'the server has answered with something else than one message');

/** What has come of an answer so far, but for its messages. */
class Answer {
  /** Includes the trailers. */
  #headers: IncomingHttpHeaders = {};

  addHeaders(headers: IncomingHttpHeaders): void {
    this.#headers = { ...this.#headers, ...headers };
  }

  /** Throws unless the server has said that all went well. `failure`: why the stream broke, if it did. */
  check(failure: unknown): void {
    if (failure instanceof StateletError) throw failure;
    const code = Number(this.#headers['grpc-status'] ?? Number.NaN);
    if (Number.isNaN(code)) throw this.#withoutStatus(failure);
    if (code !== 0) throw new StateletError(kindOfCode(code), detailsOf(this.#headers));
  }

  /** The server speaks HTTP/2, but not gRPC; or the connection broke. */
  #withoutStatus(failure: unknown): StateletError {
    const status = this.#headers[constants.HTTP2_HEADER_STATUS] as number | undefined;
    if (failure !== undefined) return new StateletError('Unavailable', errorMessage(failure));
    if (status === undefined) return new StateletError('Unavailable', 'error reading from server: EOF');
    const text = `${status} (${STATUS_CODES[status] ?? ''})`;
    const kind = KIND_OF_HTTP_STATUS[status] ?? 'Unknown';
    return new StateletError(kind, `unexpected HTTP status code received from server: ${text}`);
  }
}

function detailsOf({ 'grpc-message': details = '' }: IncomingHttpHeaders): string {
  try {
    return decodeURIComponent(String(details));
  } catch {
    return String(details);
  }
}
