/**
 * One connection to a gRPC server, over HTTP/2 without TLS, for methods that are asked once. It is dialed once and never
 * again. grpc-js is not used: its channel goes on dialing after it was closed, and keeps the connection to a server that accepts it and
 * then stays silent.
 */
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

export interface GrpcConnectionOptions {
  /** The server's name in requests. */
  readonly authority: string;
  readonly userAgent: string;
  /** A longer answer is an error. */
  readonly answerBytesMax: number;
}

interface Exchange {
  readonly path: string;
  readonly request: readonly Uint8Array[];
  readonly signal: AbortSignal;
}

/** The prefix of each message: whether it is compressed, and its length. */
export const PREFIX_BYTES = 5;
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
    this.#session
      .once('remoteSettings', () => {
        this.#isReady = true;
        resolve(undefined);
      })
      .on('error', (error: Error) => reject((this.#error = error)))
      .once('close', () => reject(new Error('the connection was closed')));
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

  /**
   * The message of the answer. `request`: the parts of the message, one after another. Rejects with gRPC's code as the kind, or with the
   * signal's reason as soon as it aborts.
   */
  async ask(path: string, request: readonly Uint8Array[], signal: AbortSignal): Promise<Buffer> {
    const answer = new Answer(this.#options.answerBytesMax);
    const failure = await this.#exchange({ path, request, signal }, answer, (stream) =>
      stream.on('data', (chunk: Buffer) => {
        if (!answer.add(chunk)) stream.close(constants.NGHTTP2_CANCEL);
      }),
    );
    return answer.message(failure);
  }

  /**
   * Asks once and hears many messages. `onStream` reads them, as soon as the request has been sent. Resolves when the server has ended the
   * stream well.
   */
  async follow(
    path: string,
    request: readonly Uint8Array[],
    signal: AbortSignal,
    onStream: (stream: ClientHttp2Stream) => void,
  ): Promise<void> {
    const answer = new Answer(0);
    answer.checkStatus(await this.#exchange({ path, request, signal }, answer, onStream));
  }

  /** Resolves at the end of the answer, to why the stream broke, if it did. */
  async #exchange(
    { path, request, signal }: Exchange,
    answer: Answer,
    onStream: (stream: ClientHttp2Stream) => void,
  ): Promise<Error | undefined> {
    signal.throwIfAborted();
    if (!this.isOpen) throw this.#broken();
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      ':authority': this.#options.authority,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': this.#options.userAgent,
    });
    const { promise: end, resolve } = Promise.withResolvers<undefined>();
    let failure: Error | undefined;
    stream
      .on('response', (headers: IncomingHttpHeaders) => answer.addHeaders(headers))
      .on('trailers', (headers: IncomingHttpHeaders) => answer.addHeaders(headers))
      .on('error', (error: Error) => void (failure ??= error))
      .once('close', () => resolve(undefined));
    onStream(stream);
    stream.write(prefixOf(request));
    for (const part of request) stream.write(part);
    stream.end();
    this.#underWay += 1;
    try {
      await unlessAborted(end, signal);
      return this.#error ?? failure;
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

export function prefixOf(parts: readonly Uint8Array[]): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(
    parts.reduce((length, part) => length + part.length, 0),
    1,
  );
  return prefix;
}

/** What has come of an answer so far. */
class Answer {
  readonly #bytesMax: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  /** Includes the trailers. */
  #headers: IncomingHttpHeaders = {};

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax + PREFIX_BYTES;
  }

  get #isTooLong(): boolean {
    return this.#length > this.#bytesMax;
  }

  addHeaders(headers: IncomingHttpHeaders): void {
    this.#headers = { ...this.#headers, ...headers };
  }

  /** False: it is longer than allowed. */
  add(chunk: Buffer): boolean {
    this.#length += chunk.length;
    if (this.#isTooLong) this.#chunks.length = 0;
    else this.#chunks.push(chunk);
    return !this.#isTooLong;
  }

  /** `failure`: why the stream broke, if it did. */
  message(failure: unknown): Buffer {
    if (this.#isTooLong) {
      const limit = this.#bytesMax - PREFIX_BYTES;
      throw new StateletError('ResourceExhausted', `the answer is longer than ${limit} bytes`);
    }
    this.checkStatus(failure);
    return messageIn(Buffer.concat(this.#chunks, this.#length));
  }

  /** Throws unless the server has said that all went well. `failure`: why the stream broke, if it did. */
  checkStatus(failure: unknown): void {
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

function messageIn(body: Buffer): Buffer {
  if (body.length < PREFIX_BYTES || body.readUInt32BE(1) !== body.length - PREFIX_BYTES) {
    throw new StateletError('Internal', 'the server has answered with something else than one message');
  }
  if (body[0] !== 0) throw new StateletError('Internal', 'the answer is compressed, which it must not be');
  return body.subarray(PREFIX_BYTES);
}

function detailsOf({ 'grpc-message': details = '' }: IncomingHttpHeaders): string {
  try {
    return decodeURIComponent(String(details));
  } catch {
    return String(details);
  }
}
