/** Opens HTTP servers with limits, binds them to an address, and closes them in good order. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Server as SocketServer, Socket } from 'node:net';
import { StateletError } from '../../types/errors.ts';

export interface Listener {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** What the server serves, for the error message: `/healthz and /pods`. */
  readonly what: string;
  /** The flags that choose another port and another address. */
  readonly portFlag: string;
  readonly hostFlag: string;
}

export interface ServerLimits {
  /** Each connection takes a file descriptor, and the daemon needs descriptors for its pods. */
  readonly connectionsMax: number;
  /** How long a client may take to send a whole request. */
  readonly requestMs: number;
  /** How often requests are checked for that. */
  readonly checkMs: number;
  /** A connection without any traffic for so long is closed. */
  readonly idleMs: number;
  /** Of the request line and the headers. */
  readonly headerBytesMax: number;
  /**
   * Where there are too many connections: whether the oldest answer that has no end (a stream of events, a WebSocket) is ended to make
   * room for a new connection. For a server of pages: every user of the machine can reach it, and a page opens its stream again.
   */
  readonly endsStreams?: boolean;
}

export const SERVER_LIMITS: ServerLimits = {
  connectionsMax: 32,
  requestMs: 10_000,
  checkMs: 30_000,
  idleMs: 15_000,
  headerBytesMax: 8192,
};

/** A server that bounds how many connections its clients open, and how long a slow client holds one. */
export function boundedServer(limits = SERVER_LIMITS, onRequest?: RequestListener): Server {
  const { requestMs, checkMs, idleMs, headerBytesMax } = limits;
  const options = {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
    maxHeaderSize: headerBytesMax,
  };
  const server = createServer(options, onRequest);
  trackConnections(server);
  boundConnections(server, limits);
  server.setTimeout(idleMs);
  return server;
}

/** Resolves with the port that was bound. Rejects with `FailedPrecondition`; the message names address and flag. */
export function listen(server: SocketServer, listener: Listener): Promise<number> {
  const { host, port, what } = listener;
  return new Promise((resolve, reject) => {
    // Not once: as in `listening`, later errors are passed over.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const message = `cannot serve ${what} on ${hostPort(host, port)}: ${adviceOn(error, listener)}`;
      reject(new StateletError('FailedPrecondition', message, { cause: error }));
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

function adviceOn({ code, message }: NodeJS.ErrnoException, { portFlag, hostFlag }: Listener): string {
  switch (code) {
    case 'EADDRINUSE':
      return `the port is in use, by a kubelet or another statelet perhaps; choose another with ${portFlag}`;
    case 'EACCES':
      return `this user may not use that port; choose one above 1023 with ${portFlag}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `this machine has no such address; choose another with ${hostFlag}`;
    case undefined:
    default:
      return message;
  }
}

/** The open connections of each server, with those that were upgraded: Node's server does not know of these. */
const connections = new WeakMap<Server, Set<Socket>>();

/** Without it, `close` would wait for connections that were upgraded. */
export function trackConnections(server: Server): void {
  const sockets = new Set<Socket>();
  connections.set(server, sockets);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
}

/** The answers of a connection that are under way. */
const answers = new WeakMap<Socket, Set<Pick<ServerResponse, 'headersSent'>>>();

function answersOf(socket: Socket): Set<Pick<ServerResponse, 'headersSent'>> {
  const known = answers.get(socket) ?? new Set();
  answers.set(socket, known);
  return known;
}

/** To be called when a connection is upgraded: from then on its request is under way until the connection ends. */
export function takenOver(socket: Socket): void {
  answersOf(socket).add({ headersSent: true });
}

/**
 * Where there is one connection too many, the one that has waited longest without a request under way is closed, or else the oldest whose
 * client does not read its answer. So a client that opens connections and does nothing cannot keep others out. If requests are under way
 * on all connections, the new one is closed.
 */
function boundConnections(server: Server, { connectionsMax, endsStreams = false }: ServerLimits): void {
  const open = connections.get(server) ?? new Set();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const ofSocket = answersOf(socket).add(response);
    response.once('close', () => ofSocket.delete(response));
  });
  const isStream = (socket: Socket) => [...answersOf(socket)].every(({ headersSent }) => headersSent);
  server.on('connection', (socket: Socket) => {
    if (open.size <= connectionsMax) return;
    const others = [...open].filter((other) => other !== socket);
    const ended =
      others.find((other) => answersOf(other).size === 0) ??
      others.find(({ writableLength }) => writableLength > 0) ??
      (endsStreams ? others.find(isStream) : undefined) ??
      socket;
    open.delete(ended);
    ended.destroy();
  });
}

/** When the server closes, how long the answers under way may take. */
const CLOSE_GRACE_MS = 1000;

/** Lets the requests under way finish; resolves when the port is free again. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => endConnections(server), CLOSE_GRACE_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function endConnections(server: Server): void {
  server.closeAllConnections();
  for (const socket of connections.get(server) ?? []) socket.destroy();
}

export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
