/** The page of a daemon: at the socket of its root folder, and with `--ui` at a port. Its code is loaded when it is first asked for. */
import type { NodeAgent } from '../actors/node-agent.ts';
import type { Endpoint } from '../config/config.ts';
import type { RecentEvents } from '../server/recent-events.ts';
import type { Route } from '../server/routes/route.ts';
import type { PageServer } from '../server/ui/page-server.ts';
import type { PageSource } from '../server/ui/page-source.ts';
import { systemClock } from '../system/system-clock.ts';
import type { Logger } from '../types/logger.ts';

export class DaemonPage {
  readonly #endpoint: Endpoint | undefined;
  readonly #logger: Logger;
  #server: PageServer | undefined;
  #source: Promise<PageSource> | undefined;

  /** `endpoint`: of `--ui`. */
  constructor(endpoint: Endpoint | undefined, logger: Logger) {
    this.#endpoint = endpoint;
    this.#logger = logger;
  }

  async routes(agent: NodeAgent, events: RecentEvents): Promise<readonly Route[]> {
    const { pageRoutes } = await import('../server/ui/page-routes.ts');
    return pageRoutes(() => this.#sourceOf(agent, events));
  }

  /** Rejects with `FailedPrecondition` when the port cannot be bound. */
  async open(agent: NodeAgent, events: RecentEvents): Promise<void> {
    if (this.#endpoint === undefined) return;
    const { startPageServer } = await import('../server/ui/page-server.ts');
    const routes = await this.routes(agent, events);
    const logger = this.#logger;
    this.#server = await startPageServer({ ...this.#endpoint, routes, flag: '--ui=HOST:PORT', logger });
    const { url } = this.#server;
    logger.info({ url }, `the page of this node: open ${url} in a browser`);
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #sourceOf(agent: NodeAgent, events: RecentEvents): Promise<PageSource> {
    return (this.#source ??= import('./serve-page.ts').then(({ pageSource }) =>
      pageSource({ agent, events, clock: systemClock }),
    ));
  }
}
