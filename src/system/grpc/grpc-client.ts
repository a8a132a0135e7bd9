import { type ErrorKind, errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { unlessAborted } from '../promises.ts';
import { GrpcConnection } from './grpc-connection.ts';
import { LatestMessage, type LatestMessageListener } from './latest-message.ts';
import type { Method } from './method.ts';

/** As many bytes as the kubelet accepts of a runtime. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Asks on one connection. */
export type Ask = <Q, A>(method: Method<Q, A>, request: Q, signal: AbortSignal) => Promise<A>;

/**
 * Asked first on each connection but the first one: another server may listen at the socket by then. Where it rejects, nothing else is asked
 * there.
 */
export type Introduce = (ask: Ask) => Promise<void>;

/** The error of a call of that method, whose failure has a kind and a text. */
export type CallErrors = (method: string, kind: ErrorKind, text: string, cause: unknown) => StateletError;

/** Errors that name the method, the socket and `what` is asked. */
function namedErrors(what: string, socketPath: string): CallErrors {
  return (method, kind, text, cause) =>
    new StateletError(kind, `${what} (${socketPath}): ${method}: ${text}`, { cause });
}

export interface Listening<A> {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onAnswer: (answer: A) => void;
}

/**
 * Asks a gRPC server on a socket of this machine. It is connected with the first question, and with the next one after the connection broke:
 * between questions nothing is dialed.
 */
export class GrpcClient {
  readonly #socketPath: string;
  readonly #errorOf: CallErrors;
  readonly #introduce: Introduce | undefined;
  #connection: GrpcConnection | undefined;
  /** Of the connection. */
  #introduced: Promise<void> | undefined;
  #isClosed = false;

  /** `errors`: how to make them, or the server's name in them. */
  constructor(errors: CallErrors | string, socketPath: string, introduce?: Introduce) {
    this.#socketPath = socketPath;
    this.#errorOf = typeof errors === 'string' ? namedErrors(errors, socketPath) : errors;
    this.#introduce = introduce;
  }

  call<Q, A>(method: Method<Q, A>, request: Q, signal: AbortSignal): Promise<A> {
    return this.ask(method, () => [method.request.encode(request)], signal);
  }

  /** `request` gives the parts of the message, which are encoded already. */
  ask<Q, A>(method: Method<Q, A>, request: () => readonly Uint8Array[], signal: AbortSignal): Promise<A> {
    const { name, path, response } = method;
    return this.#asked(name, signal, async (connection) =>
      response.decode(await connection.ask({ path, request: request(), signal })),
    );
  }

  /** Asks once and passes on each answer. Resolves when the server ends them well. */
  listen<Q, A>(
    { name, path, request: { encode }, response }: Method<Q, A>,
    request: Q,
    { signal, headers, onAnswer }: Listening<A>,
  ): Promise<void> {
    return this.#asked(name, signal, (connection) =>
      connection.listen({ path, request: [encode(request)], signal, headers }, (message) =>
        onAnswer(response.decode(message)),
      ),
    );
  }

  /**
   * Asks once and passes on many answers, each as bytes: of those that come faster than they can be handled, only the latest. Resolves when the
   * server ends the answer well.
   */
  watch<Q, A>(
    { name, path, request: { encode } }: Method<Q, A>,
    request: Q,
    { signal, ...listener }: LatestMessageListener & { readonly signal: AbortSignal },
  ): Promise<void> {
    const latest = new LatestMessage(listener);
    return this.#asked(name, signal, (connection) =>
      connection
        .follow({ path, request: [encode(request)], signal }, (chunk, stream) => latest.take(chunk, stream))
        .finally(() => latest.stop()),
    );
  }

  /** Resolves when the server listens. Rejects where it does not. */
  async connect(signal: AbortSignal): Promise<void> {
    await this.#asked('connect', signal, (connection) => unlessAborted(connection.ready, signal));
  }

  /** Resolves when there is no connection, or no more. */
  async disconnected(signal: AbortSignal): Promise<void> {
    if (this.#connection) await unlessAborted(this.#connection.ended, signal);
  }

  /** Nothing more is asked. Calls under way go on. */
  retire(): void {
    this.#isClosed = true;
    if (this.#connection?.isIdle) this.#connection.close();
  }

  /** Calls under way reject. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  async #asked<T>(
    method: string,
    signal: AbortSignal,
    work: (connection: GrpcConnection) => Promise<T>,
  ): Promise<T> {
    try {
      signal.throwIfAborted();
      const connection = this.#open();
      try {
        if (this.#introduced) await unlessAborted(this.#introduced, signal);
        return await work(connection);
      } finally {
        // A server that no longer reads would let requests and cancellations pile up: the next request gets a new connection.
        if (connection.isIdle && (this.#isClosed || signal.aborted || !connection.isReady))
          connection.close();
      }
    } catch (error) {
      throw this.#errorOf(method, kindOf(error, signal), errorMessage(error), error);
    }
  }

  #open(): GrpcConnection {
    if (this.#isClosed) throw new StateletError('Unavailable', 'the connection was closed');
    if (this.#connection?.isOpen) return this.#connection;
    const options = { authority: 'localhost', userAgent: 'statelet', answerBytesMax: ANSWER_BYTES_MAX };
    const connection = new GrpcConnection({ path: this.#socketPath }, options);
    this.#introduced = this.#connection && this.#introduce && introduced(connection, this.#introduce);
    return (this.#connection = connection);
  }
}

async function introduced(connection: GrpcConnection, introduce: Introduce): Promise<void> {
  try {
    await connection.ready;
    await introduce(async ({ path, request, response }, question, signal) =>
      response.decode(await connection.ask({ path, request: [request.encode(question)], signal })),
    );
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** The part of the client by which drivers of the node are called. */
export type GrpcLink = Pick<GrpcClient, 'call' | 'watch' | 'connect' | 'disconnected' | 'close'>;

export type Dial = (errors: CallErrors | string, socketPath: string) => GrpcLink;

export const dialSocket: Dial = (errors, socketPath) => new GrpcClient(errors, socketPath);

/** An answer that cannot be read is an `Internal` error, like gRPC's own. */
function kindOf(error: unknown, signal: AbortSignal): ErrorKind {
  const isGivenUp = signal.aborted && error === signal.reason && !(error instanceof StateletError);
  if (!isGivenUp) return errorKind(error);
  return (error as Partial<Error> | undefined)?.name === 'TimeoutError' ? 'DeadlineExceeded' : 'Canceled';
}
