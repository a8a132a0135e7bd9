import { type ErrorKind, errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { GrpcConnection } from './grpc-connection.ts';
import type { Method } from './method.ts';

/** As many bytes as the kubelet accepts of a runtime. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Asks a gRPC server on a socket of this machine. It is connected with the first question, and with the next one after the connection broke:
 * between questions nothing is dialed. Errors are StateletErrors that name the method and `what` is asked.
 */
export class GrpcClient {
  readonly #what: string;
  readonly #socketPath: string;
  #connection: GrpcConnection | undefined;
  #isClosed = false;

  /** `what`: the server's name in errors. */
  constructor(what: string, socketPath: string) {
    this.#what = what;
    this.#socketPath = socketPath;
  }

  call<Q, A>(method: Method<Q, A>, request: Q, signal: AbortSignal): Promise<A> {
    return this.ask(method, () => [method.request.encode(request)], signal);
  }

  /** `request` gives the parts of the message, which are encoded already. */
  async ask<Q, A>(
    method: Method<Q, A>,
    request: () => readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<A> {
    if (this.#isClosed) throw this.#error(method.name, 'Unavailable', 'the connection was closed');
    try {
      const answer = await this.#ask(method.path, request(), signal);
      return method.response.decode(answer);
    } catch (error) {
      throw this.#error(method.name, kindOf(error, signal), errorMessage(error), error);
    }
  }

  /** Calls under way reject. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  async #ask(path: string, request: readonly Uint8Array[], signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted();
    if (!this.#connection?.isOpen) this.#connection = this.#connect();
    const connection = this.#connection;
    try {
      return await connection.ask(path, request, signal);
    } finally {
      // A server that no longer reads would let requests and cancellations pile up: the next request gets a new connection.
      if (!connection.isReady || (signal.aborted && connection.isIdle)) connection.close();
    }
  }

  #connect(): GrpcConnection {
    return new GrpcConnection(
      { path: this.#socketPath },
      { authority: 'localhost', userAgent: 'statelet', answerBytesMax: ANSWER_BYTES_MAX },
    );
  }

  #error(method: string, kind: ErrorKind, text: string, cause?: unknown): StateletError {
    const message = `${this.#what} (${this.#socketPath}): ${method}: ${text}`;
    return new StateletError(kind, message, cause === undefined ? {} : { cause });
  }
}

/** An answer that cannot be read is an `Internal` error, like gRPC's own. */
function kindOf(error: unknown, signal: AbortSignal): ErrorKind {
  const isGivenUp = signal.aborted && error === signal.reason && !(error instanceof StateletError);
  if (!isGivenUp) return errorKind(error);
  return (error as Partial<Error> | undefined)?.name === 'TimeoutError' ? 'DeadlineExceeded' : 'Canceled';
}
