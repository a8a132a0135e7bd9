/** An HTTPS server that uses new certificates without a restart, and limits what clients may take before they are authenticated. */
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorMessage } from '../../../types/errors.ts';
import { trackConnections } from '../listen.ts';
import { lingerAndClose, serveRoutes, type Service } from './serve-routes.ts';
import type { TLSMaterial } from './tls-material.ts';
import type { AgentContext } from '../../../types/agent-context.ts';

export interface SecureLimits {
  /** For connections of which no request has been authenticated yet. */
  readonly unauthenticated: UnauthenticatedLimits;
  readonly handshakeMs: number;
  /** How long a client may take to send the headers of a request. */
  readonly headersMs: number;
  /** Between two requests of one connection. */
  readonly idleMs: number;
  /** For one request and its answer; not for connections that were taken over by another protocol. */
  readonly requestMs: number;
  /** Of the request line and the headers. */
  readonly headerBytesMax: number;
}

/** The kubelet's limits; it has none for unauthenticated connections, and for the time of handshake and headers. */
export const SECURE_LIMITS: SecureLimits = {
  unauthenticated: { socketsMax: 256, graceMs: 2000, burstMax: 2048, bytesMax: 32 * 2 ** 20 },
  handshakeMs: 10_000,
  headersMs: 30_000,
  idleMs: 90_000,
  requestMs: 4 * 60 * 60_000,
  headerBytesMax: 2 ** 20,
};

/** For so long after a look at the files of certificates they are not looked at again. */
const LOOK_MS = 1000;
/** For so long a new connection waits for that look: the disk may hang. */
const LOOK_LIMIT_MS = 1000;

/** Rejects if certificate or client CA cannot be used. The server is not listening yet. */
export async function secureServer(
  agent: AgentContext,
  material: TLSMaterial,
  service: Service,
  limits = SECURE_LIMITS,
): Promise<Server> {
  const context = await material.changed();
  const server = createServer({
    ...context,
    ALPNProtocols: ['http/1.1'],
    requestCert: material.asksForClientCertificate,
    rejectUnauthorized: false,
    handshakeTimeout: limits.handshakeMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.min(5000, limits.headersMs),
    maxHeaderSize: limits.headerBytesMax,
  });
  server.timeout = 0;
  const unauthenticated = new UnauthenticatedConnections(limits.unauthenticated);
  serveRoutes(server, notingAuthenticated(service, unauthenticated));
  boundRequests(server, limits.requestMs);
  server.on('clientError', answerBroken);
  server.on('tlsClientError', (_, socket) => socket.destroy());
  renewed(agent, server, material, unauthenticated);
  trackConnections(server);
  return server;
}

function notingAuthenticated(service: Service, unauthenticated: UnauthenticatedConnections): Service {
  return {
    ...service,
    admit: async (raw, target) => {
      await service.admit?.(raw, target);
      unauthenticated.authenticated(raw.socket);
    },
  };
}

function boundRequests(server: Server, requestMs: number): void {
  server.prependListener('request', ({ socket, httpVersion }: IncomingMessage, response) => {
    // Go's server keeps connections open without this header.
    if (httpVersion === '1.1') response.removeHeader('Connection');
    const timer = setTimeout(() => socket.destroy(), requestMs).unref();
    response.once('close', () => clearTimeout(timer));
  });
}

const BROKEN: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/** Answers bytes that are no HTTP request, in Go's words. */
function answerBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = BROKEN.get(error.code ?? '') ?? '400 Bad Request';
  const headers = 'Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n';
  socket.end(`HTTP/1.1 ${status}\r\n${headers}${status}`);
  lingerAndClose(socket);
}

/** Before a connection is secured, the server looks whether there is another certificate or client CA. */
function renewed(
  { logger }: AgentContext,
  server: Server,
  material: TLSMaterial,
  unauthenticated: UnauthenticatedConnections,
): void {
  const secure = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  let looked = 0;
  let problem: string | undefined;
  const look = async (): Promise<void> => {
    try {
      const context = await material.changed();
      if (context) server.setSecureContext(context);
      problem = undefined;
    } catch (error) {
      const message = errorMessage(error);
      if (message !== problem)
        logger.warn({ problem: message }, 'The certificate that was read before stays in use');
      problem = message;
    }
  };
  const begin = (socket: Socket) => {
    if (!socket.destroyed) for (const listener of secure) listener.call(server, socket);
  };
  server.on('connection', (socket: Socket) => {
    unauthenticated.add(socket);
    socket.on('error', () => undefined);
    const now = performance.now();
    if (now - looked < LOOK_MS) {
      begin(socket);
      return;
    }
    looked = now;
    const limit = new Promise((resolve) => setTimeout(resolve, LOOK_LIMIT_MS).unref());
    void Promise.race([look(), limit]).then(() => begin(socket));
  });
}

interface UnauthenticatedLimits {
  /** Connections that have waited longer than `graceMs`. */
  readonly socketsMax: number;
  /** Requests of many clients may come at once: each new connection has this time to authenticate. */
  readonly graceMs: number;
  /** Connections, also of those that have just come. */
  readonly burstMax: number;
  /** What all of them together have sent: headers that are not whole yet are in memory. */
  readonly bytesMax: number;
}

interface Connection {
  readonly socket: Socket;
  readonly since: number;
}

/** How often the bytes that they have sent are added up. */
const COUNT_MS = 250;

/**
 * The connections of which no request has been authenticated yet. When there are too many, the oldest is closed; when they have sent too
 * much, those that have sent most. So a client that opens thousands of connections takes no memory and keeps no other client out.
 */
class UnauthenticatedConnections {
  readonly #limits: UnauthenticatedLimits;
  /** In the order in which they came. */
  readonly #sockets = new Map<string, Connection>();
  #counting: NodeJS.Timeout | undefined;

  constructor(limits: UnauthenticatedLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#sockets.size;
  }

  add(socket: Socket): void {
    const name = nameOf(socket);
    this.#sockets.set(name, { socket, since: performance.now() });
    socket.once('close', () => {
      if (this.#sockets.get(name)?.socket === socket) this.#sockets.delete(name);
    });
    this.#endOldest();
    this.#counting ??= setInterval(() => this.#count(), COUNT_MS).unref();
  }

  /** To be called when a request of the connection has been authenticated. `socket` may be the TLS socket: its addresses are the same. */
  authenticated(socket: Socket): void {
    this.#sockets.delete(nameOf(socket));
  }

  #endOldest(): void {
    const { socketsMax, graceMs, burstMax } = this.#limits;
    const before = performance.now() - graceMs;
    let left = this.#sockets.size;
    for (const { socket, since } of this.#sockets.values()) {
      if (left <= socketsMax || (since > before && left <= burstMax)) break;
      socket.destroy();
      left -= 1;
    }
  }

  #count(): void {
    this.#endOldest();
    const sent = Array.from(this.#sockets.values(), ({ socket }) => ({ socket, bytes: socket.bytesRead }));
    let all = sent.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { socket, bytes } of sent.sort((a, b) => b.bytes - a.bytes)) {
      if (all <= this.#limits.bytesMax) break;
      socket.destroy();
      all -= bytes;
    }
    if (this.#sockets.size > 0) return;
    clearInterval(this.#counting);
    this.#counting = undefined;
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? ''}`;
}
