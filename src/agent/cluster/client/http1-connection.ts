import http, { type ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  type HttpAnswer,
  type HttpConnection,
  type HttpRequest,
  StaleConnectionError,
} from './http-request.ts';

/** Connections that speak HTTP/1.1, one for each request at a time. They are kept for the next requests. */
export class Http1Connection implements HttpConnection {
  readonly #agent: DialingAgent;
  readonly #host: string;
  #isRetired = false;

  /** `first`: a connection that is open already. */
  constructor(first: Socket, server: URL, open: () => Promise<Socket>) {
    this.#host = server.host;
    this.#agent = new DialingAgent(first, open);
  }

  get isClosed(): boolean {
    return this.#isRetired;
  }

  get isUsable(): boolean {
    return !this.#isRetired;
  }

  async request({ method, path, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const request: ClientRequest = http.request({
      agent: this.#agent,
      method,
      path,
      headers: { ...headers, host: this.#host, ...(body && { 'content-length': String(body.length) }) },
    });
    const abort = () => request.destroy(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    request.once('close', () => signal.removeEventListener('abort', abort));
    request.once('response', (answer) => {
      answer.once('close', () => this.#agent.closeWhenRetired(this.#isRetired));
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '');
      reject(isStale ? new StaleConnectionError(error.message, { cause: error }) : error);
    });
    request.end(body);
    return promise;
  }

  retire(): void {
    this.#isRetired = true;
    this.#agent.closeWhenRetired(true);
  }

  destroy(): void {
    this.#isRetired = true;
    this.#agent.destroy();
  }
}

/** Opens sockets through proxies and TLS, which Node's own agent does not know. */
class DialingAgent extends http.Agent {
  #first: Socket | undefined;
  readonly #open: () => Promise<Socket>;

  constructor(first: Socket, open: () => Promise<Socket>) {
    super({ keepAlive: true, maxFreeSockets: 4 });
    this.#first = first;
    this.#open = open;
    first.on('error', () => undefined);
  }

  override createConnection(
    _options: http.ClientRequestArgs,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | undefined {
    const first = this.#first;
    this.#first = undefined;
    if (first?.writable === true) return first;
    this.#open().then(
      (socket) => callback?.(null, socket),
      // Node's types want a socket with the error, too.
      (error: unknown) => callback?.(error as Error, undefined as unknown as Duplex),
    );
    return undefined;
  }

  /** Sockets without a request are closed; the others close themselves after it, as the agent keeps none any more. */
  closeWhenRetired(isRetired: boolean): void {
    if (!isRetired) return;
    this.#first?.destroy();
    this.maxFreeSockets = 0;
    for (const sockets of Object.values(this.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }

  override destroy(): void {
    this.#first?.destroy();
    super.destroy();
  }
}
