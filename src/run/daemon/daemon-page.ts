/** The page of a daemon: at the socket of its root folder, and with `--ui` at a port. Its code is loaded when it is first asked for. */
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import type { RecentEvents } from '../../agent/server/recent-events.ts';
import type { Route } from '../../agent/server/routes/route.ts';
import type { PageServer } from '../../page/server/page-server.ts';
import type { PageSource } from '../../page/server/overview-stream.ts';
import type { AgentContext } from '../../types/agent-context.ts';

type PageConfig = Pick<StateletConfig, 'ui' | 'rootDir' | 'flightRecorderBytes'>;

export class DaemonPage {
  readonly #context: AgentContext;
  readonly #config: PageConfig;
  #server: PageServer | undefined;
  #source: Promise<PageSource> | undefined;

  constructor(context: AgentContext, config: PageConfig) {
    this.#context = context;
    this.#config = config;
  }

  /** Undefined until it is served at a port. */
  get url(): string | undefined {
    return this.#server?.url;
  }

  async routes(agent: NodeAgent, events: RecentEvents): Promise<readonly Route[]> {
    const { pageRoutes } = await import('../../page/server/page-server.ts');
    return pageRoutes(() => this.#sourceOf(agent, events));
  }

  /** Rejects with `FailedPrecondition` when the port cannot be bound. */
  async open(agent: NodeAgent, events: RecentEvents): Promise<void> {
    const { ui } = this.#config;
    if (ui === undefined) return;
    const { startPageServer } = await import('../../page/server/page-server.ts');
    const routes = await this.routes(agent, events);
    const { logger } = this.#context;
    this.#server = await startPageServer({ ...ui, routes, flag: '--ui=HOST:PORT', logger });
    const { url } = this.#server;
    logger.info({ url }, `the page of this node: open ${url} in a browser`);
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #sourceOf(agent: NodeAgent, events: RecentEvents): Promise<PageSource> {
    const { rootDir, flightRecorderBytes } = this.#config;
    const record = flightRecorderBytes > 0 ? { recordedIn: rootDir } : {};
    return (this.#source ??= import('./serve-page.ts').then(({ pageSource }) =>
      pageSource(this.#context, { agent, events, ...record }),
    ));
  }
}
