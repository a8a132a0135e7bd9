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

/**
 * Asks a gRPC server on a socket of this machine. It is connected with the first question, and with the next one after the connection broke:
 * between questions nothing is dialed. Errors are StateletErrors that name the method and `what` is asked.
 */
export class GrpcClient {
  readonly #what: string;
  readonly #socketPath: string;
  readonly #introduce: Introduce | undefined;
  #connection: GrpcConnection | undefined;
  /** Of the connection. */
  #introduced: Promise<void> | undefined;
  #isClosed = false;

  /** `what`: the server's name in errors. */
  constructor(what: string, socketPath: string, introduce?: Introduce) {
    this.#what = what;
    this.#socketPath = socketPath;
    this.#introduce = introduce;
  }

  call<Q, A>(method: Method<Q, A>, request: Q, signal: AbortSignal): Promise<A> {
    return this.ask(method, () => [method.request.encode(request)], signal);
  }

  /** `request` gives the parts of the message, which are encoded already. */
  ask<Q, A>(method: Method<Q, A>, request: () => readonly Uint8Array[], signal: AbortSignal): Promise<A> {
    return this.#named(method.name, signal, async () => {
      const answer = await this.#ask(signal, (connection) => connection.ask(method.path, request(), signal));
      return method.response.decode(answer);
    });
  }

  /**
   * Asks once and hears many answers, each as bytes: of those that come faster than they can be looked at, only the latest. Resolves when
   * the server ends the answer well.
   */
  watch<Q, A>(
    method: Method<Q, A>,
    request: Q,
    { signal, ...listener }: LatestMessageListener & { readonly signal: AbortSignal },
  ): Promise<void> {
    return this.#named(method.name, signal, async () => {
      const latest = new LatestMessage(listener);
      const parts = [method.request.encode(request)];
      try {
        await this.#ask(signal, (connection) =>
          connection.follow(method.path, parts, signal, (stream) => latest.read(stream)),
        );
      } finally {
        latest.stop();
      }
    });
  }

  async #named<T>(method: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw this.#error(method, 'Unavailable', 'the connection was closed');
    try {
      return await work();
    } catch (error) {
      throw this.#error(method, kindOf(error, signal), errorMessage(error), error);
    }
  }

  /** Calls under way reject. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  async #ask<T>(signal: AbortSignal, work: (connection: GrpcConnection) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (!this.#connection?.isOpen) this.#connection = this.#connect();
    const connection = this.#connection;
    try {
      if (this.#introduced) await unlessAborted(this.#introduced, signal);
      return await work(connection);
    } finally {
      // A server that no longer reads would let requests and cancellations pile up: the next request gets a new connection.
      if (!connection.isReady || (signal.aborted && connection.isIdle)) connection.close();
    }
  }

  #connect(): GrpcConnection {
    const connection = new GrpcConnection(
      { path: this.#socketPath },
      { authority: 'localhost', userAgent: 'statelet', answerBytesMax: ANSWER_BYTES_MAX },
    );
    const isFirst = this.#connection === undefined;
    this.#introduced = isFirst ? undefined : this.#introduction(connection);
    return connection;
  }

  async #introduction(connection: GrpcConnection): Promise<void> {
    if (this.#introduce === undefined) return;
    try {
      await connection.ready;
      await this.#introduce(async ({ path, request, response }, question, signal) =>
        response.decode(await connection.ask(path, [request.encode(question)], signal)),
      );
    } catch (error) {
      connection.close();
      throw error;
    }
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
