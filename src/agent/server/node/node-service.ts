/** How the node's own ports answer: a path is first cleaned as by the kubelet, then the client is checked, then its route is looked for. */
import type { IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { RequestMeasurements } from '../../../types/measurements.ts';
import { RequestError, type Route } from '../routes/route.ts';
import { type FoundRoute, type RequestTarget, requestTarget, Router } from './router.ts';
import type { Service } from './serve-routes.ts';

export interface NodeServiceParts {
  readonly routes: readonly Route[];
  /** Rejects with a `RequestError` for a request that is refused. Without it everyone may do everything. */
  readonly check?: (request: IncomingMessage, path: string) => Promise<void>;
  /** Of `readOnlyPort`. */
  readonly isReadOnly?: boolean;
}

export function nodeService(
  { logger, measurements }: AgentContext,
  { routes, check, isReadOnly = false }: NodeServiceParts,
): Service {
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
    ...(measurements && measuredBy(measurements.requests, isReadOnly)),
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
/** Here only the named paths exist. Of the other routes a path may also end in a slash, or have encoded slashes. */
const ALONE = ['/healthz', '/metrics', '/configz', '/flagz', '/statusz', '/debug/flags'];

/** By the kubelet's rules for encoded slashes and a slash at the end. */
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

const NO_PAGE = new RequestError(404, '404 page not found\n', { 'X-Content-Type-Options': 'nosniff' });

/** The answer where the path begins as a known one: it is given after the client was authorized. */
export const NO_PAGE_THERE = new RequestError(404, '404: Page Not Found');

/** Throws the redirect to the clean form of a path, before the client is checked, as the kubelet does. Escapes in it are escaped once more, so that a client that follows gets the kubelet's 404. */
export function redirectUnclean({ method }: IncomingMessage, target: RequestTarget): void {
  const { rawPath, query } = target;
  if (cleaned(rawPath) !== rawPath) redirect(method, escapedPath(cleaned(escapesOf(target))), query);
}

/** The path as Go's net/url holds it: as it was sent, or escaped anew where it has what must be escaped. */
function escapesOf({ rawPath, path }: RequestTarget): string {
  return /^[\w.~%!$&'()*+,;=:@[\]/-]*$/u.test(rawPath) ? rawPath : escapedPath(path);
}

function escapedPath(path: string): string {
  return encodeURI(path).replaceAll(/[!'()*#?[\]]/gu, hexEscape);
}

function hexEscape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function redirect(method: string | undefined, path: string, query: string): never {
  const location = query === '' ? path : `${path}?${query}`;
  const shown = location.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const link = `<a href="${shown.replaceAll('"', '&#34;').replaceAll("'", '&#39;')}">Temporary Redirect</a>.\n\n`;
  throw new RequestError(307, method === 'GET' ? link : '', {
    ...(method === 'GET' || method === 'HEAD' ? { 'Content-Type': 'text/html; charset=utf-8' } : {}),
    Location: location,
  });
}

/** Below these paths, requests are authorized before it is known whether the path exists. Those that end with a slash must have it. */
const ROOTS = ['/pods', '/containerLogs', '/exec', '/attach', '/portForward', '/run'];

const ROOTS_WITH_SLASH = ['/stats/', '/logs/', '/runningpods/', '/checkpoint/', '/debug/pprof/'];

/** The trees of paths in which there are routes. */
class PathTrees {
  readonly #roots: ReadonlySet<string>;
  readonly #prefixes: readonly string[];

  constructor(routes: readonly Route[]) {
    // A tree that is switched off is one route (`/exec/*`), and must have its slash.
    const isServed = (root: string) =>
      routes.some(({ path }) => path === root || path.startsWith(`${root}/:`));
    this.#roots = new Set(ROOTS.filter(isServed));
    const prefixes = [...ROOTS.map((root) => `${root}/`), ...ROOTS_WITH_SLASH];
    this.#prefixes = prefixes.filter(
      (prefix) => this.#roots.has(prefix.slice(0, -1)) || routes.some(({ path }) => path.startsWith(prefix)),
    );
  }

  /** Throws the redirect for a root that lacks its slash. */
  has({ method }: IncomingMessage, { rawPath, path, query }: RequestTarget): boolean {
    // An encoded slash does not end the name of a tree.
    const [, name = ''] = rawPath.split('/');
    if (/%2f/iu.test(name)) return false;
    if (this.#roots.has(path)) return true;
    if (this.#prefixes.includes(`${path}/`)) redirect(method, `${path}/`, query);
    return this.#prefixes.some((prefix) => path.startsWith(prefix));
  }
}

/** Without `//`, `.` and `..`; a slash at the end stays. An empty path becomes `/`. */
function cleaned(path: string): string {
  if (path === '') return '/';
  const clean = posix.normalize(path);
  return path.endsWith('/') || !clean.endsWith('/') || clean === '/' ? clean : clean.slice(0, -1);
}
