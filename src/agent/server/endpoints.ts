/** Where a daemon serves: at an address for clients on the network, and at a socket for the owner of its root folder. */
import { hostname } from 'node:os';
import { Timer } from '../../system/timer.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import { errorMessage } from '../../types/errors.ts';
import {
  addressFile,
  controlSocket,
  listenOnControlSocket,
  removeAddress,
  writeAddress,
} from './control-socket.ts';
import { boundedServer, close, hostPort, listen, SERVER_LIMITS } from './listen.ts';
import { Router } from './node/router.ts';
import { serveRoutes } from './node/serve-routes.ts';
import { FOREIGN, isForeign, isLoopback } from './foreign-request.ts';
import { redact } from './redact.ts';
import { type ApiSources, LOCAL_NOT_FOUND, localRoutes } from './routes/local-routes.ts';
import { RequestError, type Route } from './routes/route.ts';

export interface EndpointsParts {
  readonly rootDir: string;
  readonly nodeName: string;
  /** Undefined: only the socket. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  readonly sources: ApiSources;
  /** Further routes of the socket. Called once, when a request needs them. */
  readonly nodeRoutes?: () => Promise<readonly Route[]>;
  /** The delay before a failed write into the root folder is tried again. */
  readonly retryMs?: number;
}

const RETRY_MS = 10_000;

export class Endpoints {
  /** With the port that was bound; undefined where there is only the socket. */
  readonly address: string | undefined;
  readonly #server: NetworkServer | undefined;
  readonly #context: AgentContext;
  readonly #parts: EndpointsParts;
  readonly #socketRetry: Timer;
  readonly #addressRetry: Timer;
  #closeSocket: (() => Promise<void>) | undefined;
  #isClosed = false;

  private constructor(context: AgentContext, parts: EndpointsParts, server: NetworkServer | undefined) {
    this.#context = context;
    this.#parts = parts;
    this.#socketRetry = new Timer(context.clock);
    this.#addressRetry = new Timer(context.clock);
    this.#server = server;
    this.address = server?.address;
  }

  /**
   * Rejects with `FailedPrecondition` when the port cannot be bound. When socket or address file cannot be made, because the
   * disk is full or read-only, that is a warning: the daemon can do without them.
   */
  static async open(context: AgentContext, parts: EndpointsParts): Promise<Endpoints> {
    const { rootDir, nodeName, address, sources } = parts;
    const names = [nodeName, hostname()];
    const server = address && (await startNetworkServer({ ...address, names }, sources));
    if (server && !isLoopback(address.host)) context.logger.warn({}, openWarning(server.address));
    const endpoints = new Endpoints(context, parts, server);
    await endpoints.#make(controlSocket(rootDir), endpoints.#socketRetry, () => endpoints.#listen());
    if (server)
      await endpoints.#make(addressFile(rootDir), endpoints.#addressRetry, () =>
        endpoints.#write(server.address),
      );
    return endpoints;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socketRetry.disarm();
    this.#addressRetry.disarm();
    await removeAddress(this.#parts.rootDir).catch(() => undefined);
    await Promise.all([this.#server?.close(), this.#closeSocket?.()]);
  }

  async #listen(): Promise<void> {
    const { rootDir, sources, nodeRoutes } = this.#parts;
    const closeSocket = await startControlServer(rootDir, sources, nodeRoutes);
    if (this.#isClosed) await closeSocket();
    else this.#closeSocket = closeSocket;
  }

  async #write(address: string): Promise<void> {
    if (!this.#isClosed) await writeAddress(this.#parts.rootDir, address);
  }

  /** Tries until it succeeds. Resolves after the first attempt. */
  async #make(file: string, retry: Timer, work: () => Promise<void>, isFirst = true): Promise<void> {
    const { retryMs = RETRY_MS } = this.#parts;
    try {
      await work();
    } catch (error) {
      if (this.#isClosed) return;
      const message = `${file} cannot be made, and is tried again: ${errorMessage(error)}`;
      if (isFirst) this.#context.logger.warn({}, message);
      retry.arm(retryMs, () => void this.#make(file, retry, work, false));
    }
  }
}

function openWarning(address: string): string {
  return (
    `anyone who can reach ${address} may read the pods, their resource usage and the eviction order, without a password; ` +
    'values of environment variables are left out. --healthz-bind-address 127.0.0.1 limits it to this machine'
  );
}

interface NetworkServer {
  /** With the port that was bound: `127.0.0.1:10248`, `[::1]:10248`. */
  readonly address: string;
  readonly port: number;
  /** Lets the requests under way finish; resolves when the port is free again. */
  close(): Promise<void>;
}

export interface NetworkAddress {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Names by which clients may call this machine, in addition to its addresses and localhost. */
  readonly names?: readonly string[];
}

/**
 * The server that everything on the network can reach: it leaves secret values of containers out, and refuses requests that a
 * browser sends for a foreign page. Rejects with `FailedPrecondition` when the port cannot be bound.
 */
export async function startNetworkServer(
  { host, port, names = [] }: NetworkAddress,
  sources: ApiSources,
): Promise<NetworkServer> {
  const router = new Router(localRoutes(sources, (pod) => redact(pod)));
  const server = boundedServer();
  serveRoutes(server, {
    find: ({ path }) => router.find(path),
    admit: ({ method, headers }) => {
      if (isForeign(headers, [host, ...names])) throw FOREIGN;
      if (method !== 'GET' && method !== 'HEAD') throw READ_ONLY;
    },
    notFound: LOCAL_NOT_FOUND,
  });
  const flags = { portFlag: '--healthz-port (or "auto")', hostFlag: '--healthz-bind-address' };
  const bound = await listen(server, { host, port, what: '/healthz, /pods and /stats/summary', ...flags });
  return { address: hostPort(host, bound), port: bound, close: () => close(server) };
}

/** Log readers and open terminals may be silent for hours. */
const CONTROL_LIMITS = { ...SERVER_LIMITS, connectionsMax: 256, idleMs: 4 * 60 * 60_000 };

/**
 * The server for the owner of the root folder: it serves everything. The routes of the node are asked for when the first request
 * needs them. Rejects with the system's error. Returns its close function.
 */
function startControlServer(
  rootDir: string,
  sources: ApiSources,
  nodeRoutes?: () => Promise<readonly Route[]>,
): Promise<() => Promise<void>> {
  const local = new Router(localRoutes(sources, (pod) => pod));
  let node: Promise<Router> | undefined;
  const server = boundedServer(CONTROL_LIMITS);
  serveRoutes(server, {
    find: async ({ path }) => {
      const found = local.find(path);
      if (found !== undefined || nodeRoutes === undefined) return found;
      return (await (node ??= nodeRoutes().then((routes) => new Router(routes)))).find(path);
    },
    notFound: LOCAL_NOT_FOUND,
  });
  return listenOnControlSocket(server, rootDir);
}

const READ_ONLY = new RequestError(405, 'read-only: GET and HEAD\n', { Allow: 'GET, HEAD' });
