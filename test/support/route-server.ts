/** Serves routes on a plain HTTP server, for tests of routes. */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Router } from '../../src/agent/server/node/router.ts';
import { serveRoutes } from '../../src/agent/server/node/serve-routes.ts';
import { RequestError, type Route } from '../../src/agent/server/routes/route.ts';

export interface RouteAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export class RouteServer {
  /** What routes threw besides `RequestError`. */
  readonly defects: unknown[] = [];
  readonly #server = createServer({ maxHeaderSize: 2 ** 20 });

  constructor(routes: readonly Route[]) {
    const router = new Router(routes);
    serveRoutes(this.#server, {
      find: ({ path }) => router.find(path),
      notFound: new RequestError(404, 'no route'),
      onDefect: (error) => void this.defects.push(error),
    });
  }

  async open(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Resolves with the headers of the answer. */
  async begin(path: string): Promise<IncomingMessage> {
    const [response] = (await once(get(this.#options(path)), 'response')) as [IncomingMessage];
    return response;
  }

  /** Resolves with the whole answer. */
  async ask(path: string, method = 'GET', headers: OutgoingHttpHeaders = {}): Promise<RouteAnswer> {
    const sent = request({ ...this.#options(path), method, headers });
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
    return { status: response.statusCode, headers: response.headers, body: await text(response) };
  }

  #options(path: string) {
    return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port, path, agent: false };
  }
}
