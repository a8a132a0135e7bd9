/** The service of the node's own ports: which route answers, in which order a request is judged. */
import type { IncomingMessage } from 'node:http';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import type { RequestMeasurements } from '../../types/measurements.ts';
import type { Route } from '../routes/route.ts';
import { NO_PAGE, NO_PAGE_THERE, PathTrees, redirectUnclean } from './path-rules.ts';
import { type RequestTarget, requestTarget } from './request-path.ts';
import { type FoundRoute, Router } from './router.ts';
import type { Service } from './serve-routes.ts';

export interface NodeServiceOptions {
  readonly routes: readonly Route[];
  /** Rejects with a `RequestError` for a request that is refused. Without it everyone may do everything. */
  readonly check?: (request: IncomingMessage, path: string) => Promise<void>;
  readonly logger: Logger;
  readonly measurements?: RequestMeasurements;
  /** Of `readOnlyPort`. */
  readonly isReadOnly?: boolean;
}

export function nodeService(options: NodeServiceOptions): Service {
  const { routes, check, logger, measurements, isReadOnly = false } = options;
  const router = new Router(routes);
  const trees = new PathTrees(routes);
  return {
    find: (target) => find(router, target),
    admit: async (raw, target) => {
      redirectUnclean(raw, target);
      if (!trees.has(raw, target) && find(router, target) === undefined) throw NO_PAGE;
      await check?.(raw, target.path);
    },
    notFound: NO_PAGE_THERE,
    ...(measurements && measuredBy(measurements, isReadOnly)),
    onDefect: (error, { path }) => logger.warn({ problem: errorMessage(error), path }, 'A request failed'),
  };
}

function measuredBy(
  measurements: RequestMeasurements,
  isReadOnly: boolean,
): Pick<Service, 'began' | 'webSocketAdmitted'> {
  return {
    began: (raw) => measurements.nodeRequest({ method: raw.method ?? '', path: pathOf(raw), isReadOnly }),
    webSocketAdmitted: (path) => measurements.webSocketAdmitted(path),
  };
}

function pathOf({ url }: IncomingMessage): string | undefined {
  try {
    return requestTarget(url).path;
  } catch {
    return undefined;
  }
}

const ENCODED_SLASH = /%2f/iu;
/** These are no trees: nothing is below them but what is named. */
const ALONE = ['/healthz', '/metrics', '/configz', '/flagz', '/statusz', '/debug/flags'];

/** Below the root of a tree an encoded slash is a slash, and one at the end says nothing; other paths have neither. */
function find(router: Router, { rawPath, path }: RequestTarget): FoundRoute | undefined {
  const [, root = ''] = rawPath.split('/');
  if (ENCODED_SLASH.test(root)) return undefined;
  const found = router.find(path) ?? (path.endsWith('/') ? router.find(path.slice(0, -1)) : undefined);
  if (found === undefined || !isAlone(found)) return found;
  return found.route.path === path && !ENCODED_SLASH.test(rawPath) ? found : undefined;
}

function isAlone({ route }: FoundRoute): boolean {
  return ALONE.some((path) => route.path === path || route.path.startsWith(`${path}/`));
}
