/** Opens the page of a daemon at a port. Loaded only with `--ui`. */
import type { Endpoint } from './config/config.ts';
import { pageRoutes } from './server/ui/page-routes.ts';
import { type PageServer, startPageServer } from './server/ui/page-server.ts';
import type { PageSource } from './server/ui/page-source.ts';
import type { Logger } from './types/logger.ts';

export async function openPage(
  { host, port }: Endpoint,
  source: () => Promise<PageSource>,
  logger: Logger,
): Promise<PageServer> {
  const routes = pageRoutes(source);
  const page = await startPageServer({ host, port, routes, flag: '--ui=HOST:PORT', logger });
  logger.info({ url: page.url }, `the page of this node: open ${page.url} in a browser`);
  return page;
}
