/** The server of the page: at a port of this machine, for browsers. */
import { hostname } from 'node:os';
import type { Logger } from '../../types/logger.ts';
import { boundedServer, close, hostPort, listen, SERVER_LIMITS } from '../../agent/server/listen.ts';
import { Router } from '../../agent/server/node/router.ts';
import { serveRoutes } from '../../agent/server/node/serve-routes.ts';
import { FOREIGN, isForeign, isLoopback } from '../../agent/server/foreign-request.ts';
import { RequestError, type Route } from '../../agent/server/routes/route.ts';
import { streamChart, streamPod } from './look-stream.ts';
import { type PageSource, streamOverview } from './overview-stream.ts';
import { streamCharts, streamGone, streamNode } from './node-streams.ts';
import { fileRoutes } from './page-files.ts';

export interface PageServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The routes of the page, besides its files. */
  readonly routes: readonly Route[];
  /** The flag that chooses another address, for the error message. */
  readonly flag: string;
  readonly logger: Pick<Logger, 'warn'>;
  /** Where the files of the page are. Default: in the package. */
  readonly folder?: string;
}

export interface PageServer {
  /** To be opened in a browser. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects with `FailedPrecondition` when the port cannot be bound. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { host, port, routes, flag, logger, folder } = options;
  const router = new Router([...fileRoutes(folder), ...routes]);
  const server = boundedServer({ ...SERVER_LIMITS, connectionsMax: 64, endsStreams: true });
  serveRoutes(server, {
    find: ({ path }) => router.find(path),
    admit: ({ headers }) => {
      if (isForeign(headers, [host, hostname()])) throw FOREIGN;
    },
    notFound: new RequestError(404, 'there is no such page\n'),
  });
  const bound = await listen(server, { host, port, what: 'the page', portFlag: flag, hostFlag: flag });
  const address = hostPort(host, bound);
  if (!isLoopback(host)) {
    logger.warn(
      {},
      `anyone who can reach ${address} sees the pods and what they do, without a password; values of environment ` +
        'variables and secrets are left out. 127.0.0.1 limits it to this machine',
    );
  }
  return { url: `http://${address}/`, close: () => close(server) };
}

// The routes of the page. They leave out values of secrets and of the environment, at the owner's socket too.

/** The first part of all paths. */
export const PAGE_ROUTES = '/ui/';

/** The most streams at a time: each takes a connection, and some work. */
const STREAMS_MAX = 24;

/** `source`: asked for when the first page is opened. */
export function pageRoutes(source: () => Promise<PageSource>): readonly Route[] {
  let open = 0;
  const route = (
    path: string,
    stream: (from: PageSource, ...of: Parameters<Route['handle']>) => void,
  ): Route => ({
    path,
    methods: ['GET'],
    handle: async (request, response) => {
      if (open >= STREAMS_MAX) throw TOO_MANY;
      open += 1;
      response.once('close', () => (open -= 1));
      const from = await source();
      if (!response.destroyed) stream(from, request, response);
    },
  });
  return [
    route('/ui/overview', (from, _, response) => streamOverview(from, response)),
    route('/ui/node', (from, _, response) => streamNode(from, response)),
    route('/ui/charts', (from, _, response) => streamCharts(from, response)),
    route('/ui/gone', (from, _, response) => streamGone(from, response)),
    route('/ui/pod/:namespace/:name', (from, { params: { namespace = '', name = '' } }, response) =>
      streamPod(from, { namespace, name }, response),
    ),
    route('/ui/chart/:chart', (from, { params: { chart = '' } }, response) =>
      streamChart(from, chart, response),
    ),
  ];
}

const TOO_MANY = new RequestError(503, 'too many pages are open\n');
