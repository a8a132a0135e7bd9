/** Binding an HTTP server to an address, and letting go of it, in good order. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StateletError } from '../types/errors.ts';

export interface Listener {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** What is then served, for the message when it cannot be: `/healthz and /pods`. */
  readonly what: string;
  /** The flags that choose another port and another address. */
  readonly portFlag: string;
  readonly hostFlag: string;
}

/** More clients than a node has for one server; each has a descriptor, and the daemon needs its own for its pods. */
const CONNECTIONS_MAX = 32;
/** For the whole of a request, which has no body. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A connection over which nothing goes. */
const SILENCE_MS = 15_000;

/** A server that no client can make hold more than some connections, or hold one for nothing. */
export function boundedServer(onRequest: RequestListener): Server {
  const limits = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer({ ...limits, maxHeaderSize: 8192 }, onRequest);
  server.maxConnections = CONNECTIONS_MAX;
  server.setTimeout(SILENCE_MS);
  return server;
}

/** The port that was bound. Rejects with `FailedPrecondition`, naming address and flag. */
export function listen(server: Server, listener: Listener): Promise<number> {
  const { host, port, what } = listener;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = `cannot serve ${what} on ${hostPort(host, port)}: ${mend(error, listener)}`;
      reject(new StateletError('FailedPrecondition', message, { cause: error }));
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

function mend({ code, message }: NodeJS.ErrnoException, { portFlag, hostFlag }: Listener): string {
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

/** How long a client may take over an answer that is under way when the server closes. */
const CLOSE_GRACE_MS = 1000;

/** Lets requests under way finish; resolves when the port is free again. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
