/** Lets an HTTP server answer by routes. */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorMessage } from '../../../types/errors.ts';
import { takenOver } from '../listen.ts';
import { RequestError, type RouteRequest } from '../routes/route.ts';
import { type FoundRoute, type RequestTarget, requestTarget } from './router.ts';

export interface Service {
  find(target: RequestTarget): FoundRoute | undefined | Promise<FoundRoute | undefined>;
  /** Runs before the route is looked for. Throws a `RequestError` for a request that is refused. */
  admit?(raw: IncomingMessage, target: RequestTarget): void | Promise<void>;
  /** The answer to a path without route. */
  readonly notFound: RequestError;
  /** Called with each request. Its result is called when the answer, or the connection, has ended. */
  began?(raw: IncomingMessage): () => void;
  /** A client takes the connection over, by WebSocket. */
  webSocketAdmitted?(path: string): void;
  /** Called with errors that are defects: those that a route throws besides `RequestError`. */
  onDefect?(error: unknown, target: RequestTarget): void;
}

/** The server must have no other listeners for requests. */
export function serveRoutes(server: Server | SecureServer, service: Service): void {
  server.on('request', (raw, response) => {
    const end = service.began?.(raw);
    if (end) response.once('close', end);
    void answer(raw, response, service);
  });
  server.on('upgrade', (raw: IncomingMessage, socket: Duplex, head: Buffer) => {
    takenOver(raw.socket);
    socket.on('error', () => undefined); // The client is gone; readers of the socket get its end.
    const end = service.began?.(raw);
    if (end) socket.once('close', end);
    void upgrade(raw, socket, head, service);
  });
}

async function answer(raw: IncomingMessage, response: ServerResponse, service: Service): Promise<void> {
  try {
    const { found, request } = await routeOf(raw, service);
    await found.route.handle(request, response);
  } catch (error) {
    refuse(response, error, raw, service);
  }
}

async function upgrade(raw: IncomingMessage, socket: Duplex, head: Buffer, service: Service): Promise<void> {
  const response = new ServerResponse(raw);
  try {
    const { found, request } = await routeOf(raw, service);
    const { route } = found;
    if (route.upgrade !== undefined) {
      if (raw.headers.upgrade?.toLowerCase() === 'websocket') service.webSocketAdmitted?.(request.path);
      await route.upgrade(request, socket, head);
      return;
    }
    answerOnSocket(raw.socket, response);
    await route.handle(request, response);
  } catch (error) {
    if (response.socket === null) answerOnSocket(raw.socket, response);
    refuse(response, error, raw, service);
  }
}

/** How long a client may take to read an answer that ends the connection, as with Go. */
const LINGER_MS = 500;

/** For a connection whose answer is its end: what the client still sends is dropped, and soon the connection is closed if the client does not do it. */
export function lingerAndClose(socket: Duplex): void {
  // A client that still sends would not read the answer if the connection ended at once.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Lets an ordinary response be written to a connection that asks for an upgrade, which Node leaves alone. The response ends it. */
function answerOnSocket(socket: Socket, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => {
    response.detachSocket(socket);
    socket.end();
    lingerAndClose(socket);
  });
}

async function routeOf(
  raw: IncomingMessage,
  service: Service,
): Promise<{ readonly found: FoundRoute; readonly request: RouteRequest }> {
  if (raw.url === '*') throw aboutServer(raw);
  const target = requestTarget(raw.url);
  await service.admit?.(raw, target);
  const found = await service.find(target);
  if (found === undefined) throw service.notFound;
  const { methods } = found.route;
  if (methods !== undefined && !methods.includes(raw.method ?? '')) throw notAllowed(methods);
  const { path, query } = target;
  return { found, request: { raw, path, query, params: found.params } };
}

/** The answer to a request for `*`, the server as a whole, as Go's server gives it. */
function aboutServer({ method }: IncomingMessage): RequestError {
  return method === 'OPTIONS'
    ? new RequestError(200, '')
    : new RequestError(400, '', { Connection: 'close' });
}

function notAllowed(methods: readonly string[]): RequestError {
  return new RequestError(405, '405: Method Not Allowed', { Allow: methods.join(', ') });
}

/** Once an answer has been begun, only a broken connection shows the client that it is incomplete. */
function refuse(response: ServerResponse, error: unknown, raw: IncomingMessage, service: Service): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const isRefusal = error instanceof RequestError;
  if (!isRefusal) service.onDefect?.(error, targetOf(raw));
  const { status, message, headers } = isRefusal ? error : new RequestError(500, `${errorMessage(error)}\n`);
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response
    .writeHead(status, {
      ...(message !== '' && { 'Content-Type': 'text/plain; charset=utf-8' }),
      'Content-Length': Buffer.byteLength(message),
      ...headers,
    })
    .end(message);
}

function targetOf(raw: IncomingMessage): RequestTarget {
  try {
    return requestTarget(raw.url);
  } catch {
    return { rawPath: '', path: '', query: '' };
  }
}
