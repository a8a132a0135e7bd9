/** What the agent's servers are made from: each path is a route, and several servers may serve the same route. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export interface RouteRequest {
  readonly raw: IncomingMessage;
  /** The decoded path. */
  readonly path: string;
  /** The decoded parts of the path, by the names in the pattern; what `*` stands for is `*`. */
  readonly params: Readonly<Record<string, string>>;
  /** As it was sent, without `?`; empty if there is none. */
  readonly query: string;
}

export interface Route {
  /** `/containerLogs/:namespace/:pod/:container`, `/logs/*`. */
  readonly path: string;
  /** Others get 405. Undefined: all methods. */
  readonly methods?: readonly string[];
  /** A `RequestError` becomes the answer while no answer has been begun; any other error is 500. */
  handle(request: RouteRequest, response: ServerResponse): void | Promise<void>;
  /** Takes over the connection of a request that asks for another protocol. Without it, `handle` answers such a request. */
  upgrade?(request: RouteRequest, socket: Duplex, head: Buffer): void | Promise<void>;
}

/** An answer other than success; the message is the body. */
export class RequestError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}
