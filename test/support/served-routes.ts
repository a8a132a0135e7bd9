/** Serves routes for tests that look at whole answers: status, headers and body. */
import type { Route } from '../../src/agent/server/routes/route.ts';
import { RouteServer } from './route-server.ts';

export interface ServedRoutes {
  readonly url: string;
  /** `GET` unless `init` says otherwise. */
  readonly ask: (path: string, init?: RequestInit) => Promise<WholeAnswer>;
  readonly close: () => void;
}

export interface WholeAnswer {
  readonly status: number;
  /** The headers that a route sets: those of Node's server are left out. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const OF_NODE = ['connection', 'date', 'keep-alive', 'content-length', 'transfer-encoding'];

export async function serveForTest(routes: readonly Route[]): Promise<ServedRoutes> {
  const server = await new RouteServer(routes).open();
  return {
    url: server.url,
    ask: async (path, init) => {
      const response = await fetch(`${server.url}${path}`, init);
      const headers = [...response.headers].filter(([name]) => !OF_NODE.includes(name));
      return {
        status: response.status,
        headers: Object.fromEntries(headers),
        body: await response.text(),
      };
    },
    close: () => server.close(),
  };
}
