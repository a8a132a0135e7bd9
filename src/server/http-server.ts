/** The servers of a daemon for its own machine: the read-only one at an address, and the owner's one at the control socket. */
import { listenOnControlSocket } from './control-socket.ts';
import { boundedServer, close, hostPort, listen, SERVER_LIMITS } from './listen.ts';
import { Router } from './node/router.ts';
import { serveRoutes } from './node/serve-routes.ts';
import { FOREIGN, isForeign } from './own-request.ts';
import { redact } from './redact.ts';
import { type ApiSources, LOCAL_NOT_FOUND, localRoutes } from './routes/local-routes.ts';
import { RequestError, type Route } from './routes/route.ts';

export interface ApiServer {
  /** With the port that was bound: `127.0.0.1:10248`, `[::1]:10248`. */
  readonly address: string;
  readonly port: number;
  /** Lets the requests under way finish; resolves when the port is free again. */
  close(): Promise<void>;
}

export interface ApiAddress {
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
export async function startApiServer(
  { host, port, names = [] }: ApiAddress,
  sources: ApiSources,
): Promise<ApiServer> {
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
export function startControlServer(
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
