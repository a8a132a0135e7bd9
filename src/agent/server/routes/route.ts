/** What the agent's servers are made from: each path is a route, and several servers may serve the same route. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { goJSON } from '../../policies/formats/go-text.ts';

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

export const PLAIN_TEXT = 'text/plain; charset=utf-8';

export const JSON_TYPE = 'application/json';

/** Of answers that Go's http.Error writes, among others. */
export const NO_SNIFF = { 'X-Content-Type-Options': 'nosniff' } as const;

type Headers = Readonly<Record<string, string>>;

/** Node leaves the body out for HEAD. */
export function answer(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Headers = {},
): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'Content-Type': PLAIN_TEXT, ...headers, 'Content-Length': length }).end(body);
}

/** `indent` as in `goJSON`. */
export function answerJSON(
  response: ServerResponse,
  value: unknown,
  indent = 0,
  headers: Headers = {},
): void {
  answer(response, 200, goJSON(value, indent), { 'Content-Type': JSON_TYPE, ...headers });
}

/** Begins an answer of one object a line, which ends when the client goes. Nothing may happen for hours. */
export function beginJSONLines(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': JSON_TYPE });
  response.flushHeaders();
  response.socket?.setTimeout(0);
}
