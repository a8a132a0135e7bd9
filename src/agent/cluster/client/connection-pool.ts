/** The connections to the API server: opened when they are needed, replaced when there are other credentials. */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Subscription } from 'rxjs';
import { unlessAborted } from '../../../system/promises.ts';
import { systemClock, withDeadline } from '../../../system/timer.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ConnectionDetails, Credentials } from '../service/api-server.ts';
import { dial, serverUrl } from './dial.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http2Connection, type PingOptions } from './http2-connection.ts';
import {
  type HttpAnswer,
  type HttpConnection,
  type HttpRequest,
  NotSentError,
  StaleConnectionError,
} from './http-request.ts';

/** How often a request that did not reach the server is sent again, on another connection. */
const RESENDS_MAX = 3;

export interface PoolOptions extends PingOptions {
  readonly credentials: Credentials;
  readonly connectTimeoutMs: number;
  /** For the variables of proxies. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface PooledAnswer extends HttpAnswer {
  /** Aborts when the credentials of this answer's connection are not the latest any more. */
  readonly superseded: AbortSignal;
}

interface Pooled {
  /** What the connection was made with. */
  readonly details: ConnectionDetails;
  readonly connection: HttpConnection;
}

/** Read once, and not for each request. */
interface ServerAddress {
  readonly server: string;
  /** With the port. */
  readonly host: string;
  /** Of the path of each request. */
  readonly prefix: string;
}

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #subscription: Subscription;
  #pooled: Pooled[] = [];
  /** Connections that are being opened: many requests wait for one. */
  #opening: { readonly details: ConnectionDetails; readonly opened: Promise<HttpConnection> }[] = [];
  /** Aborts when there are other credentials. */
  #generation = new AbortController();
  readonly #closing = new AbortController();
  #asked: ServerAddress = { server: '', host: '', prefix: '' };

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#subscription = options.credentials.changes.subscribe(() => this.#supersede());
  }

  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** The host and port of the server that was last asked; empty before the first request. */
  get host(): string {
    return this.#asked.host;
  }

  async request(request: HttpRequest, signal: AbortSignal): Promise<PooledAnswer> {
    for (let resends = 0; ; resends += 1) {
      try {
        return await this.#request(request, signal);
      } catch (error) {
        // A stale connection may have been closed after the request was carried out: only reading is harmless.
        const isHarmless =
          error instanceof NotSentError ||
          (error instanceof StaleConnectionError && request.method === 'GET');
        if (!isHarmless || resends >= RESENDS_MAX || this.#closing.signal.aborted) throw error;
      }
    }
  }

  /** Breaks all connections. Requests fail from then on. */
  close(): void {
    this.#subscription.unsubscribe();
    this.#closing.abort(new StateletError('Canceled', 'the connection to the API server has been closed'));
    for (const { connection } of this.#pooled.splice(0)) connection.destroy();
  }

  async #request(request: HttpRequest, signal: AbortSignal): Promise<PooledAnswer> {
    this.#closing.signal.throwIfAborted();
    const { signal: superseded } = this.#generation;
    const details = await unlessAborted(this.#options.credentials.current(), signal);
    const connection = await this.#connection(details, signal);
    const headers = { ...request.headers, ...details.headers };
    if (this.#asked.server !== details.server) this.#asked = addressOf(details.server);
    const path = this.#asked.prefix + request.path;
    return { ...(await connection.request({ ...request, path, headers }, signal)), superseded };
  }

  async #connection(details: ConnectionDetails, signal: AbortSignal): Promise<HttpConnection> {
    this.#pooled = this.#pooled.filter(({ connection }) => !connection.isClosed);
    const usable = this.#pooled.find(
      (pooled) => pooled.connection.isUsable && isSame(pooled.details, details),
    );
    if (usable !== undefined) return usable.connection;
    const opening = this.#opening.find((other) => isSame(other.details, details));
    return unlessAborted(opening?.opened ?? this.#open(details), signal);
  }

  #open(details: ConnectionDetails): Promise<HttpConnection> {
    const opened = this.#opened(details);
    const opening = { details, opened };
    const forget = () => (this.#opening = this.#opening.filter((other) => other !== opening));
    this.#opening.push(opening);
    opened.then(forget, forget);
    return opened;
  }

  async #opened(details: ConnectionDetails): Promise<HttpConnection> {
    const server = serverUrl(details.server);
    const { signal: superseded } = this.#generation;
    const socket = await this.#dial(details, ['h2', 'http/1.1']);
    const connection =
      'alpnProtocol' in socket && socket.alpnProtocol === 'h2'
        ? new Http2Connection(socket, server, this.#options)
        : new Http1Connection(socket, server, () => this.#dial(details, ['http/1.1']));
    // Requests that wait for this connection may use it. Later ones open another.
    if (superseded.aborted) setImmediate(() => connection.retire());
    else this.#pooled.push({ details, connection });
    return connection;
  }

  async #dial(details: ConnectionDetails, protocols: readonly string[]): Promise<Socket | TLSSocket> {
    const { connectTimeoutMs, env } = this.#options;
    const problem = `no connection to ${details.server} in ${connectTimeoutMs / 1000} s`;
    const late = () => new StateletError('DeadlineExceeded', problem);
    const dialled = (signal: AbortSignal) => dial(details, { protocols, signal, env });
    return withDeadline(systemClock, connectTimeoutMs, this.#closing.signal, dialled, late);
  }

  /** Requests that are under way end on their connections; the next ones are made with the new credentials. */
  #supersede(): void {
    const former = this.#generation;
    this.#generation = new AbortController();
    this.#opening = [];
    for (const { connection } of this.#pooled.splice(0)) connection.retire();
    former.abort();
  }
}

function addressOf(server: string): ServerAddress {
  const { host, pathname } = serverUrl(server);
  return { server, host, prefix: pathname.replace(/\/$/u, '') };
}

/** Headers may differ: they are sent with each request. */
function isSame(one: ConnectionDetails, other: ConnectionDetails): boolean {
  return (
    one.server === other.server &&
    one.ca === other.ca &&
    one.cert === other.cert &&
    one.key === other.key &&
    one.tlsServerName === other.tlsServerName &&
    one.insecureSkipTLSVerify === other.insecureSkipTLSVerify &&
    one.proxyURL === other.proxyURL
  );
}
