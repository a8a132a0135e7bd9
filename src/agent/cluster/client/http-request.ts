import type { Readable } from 'node:stream';

/** One request to the API server, below the rules of Kubernetes. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: Buffer;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Fails if the connection breaks before its end. */
  readonly body: Readable;
}

/** A connection, or several that count as one, to one server with one set of credentials. */
export interface HttpConnection {
  /** Whether another request can be made now. A connection that is not usable now may be later, unless it is closed. */
  readonly isUsable: boolean;
  readonly isClosed: boolean;
  /** Resolves when the head of the answer is there. */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Takes no further requests, and closes when those that were made have been answered. */
  retire(): void;
  /** Closes at once. */
  destroy(): void;
}

/** The request did not reach the server: making it again on another connection does nothing twice. */
export class NotSentError extends Error {}

/** The connection broke before anything was answered: the server may have closed it before the request came. */
export class StaleConnectionError extends Error {}
