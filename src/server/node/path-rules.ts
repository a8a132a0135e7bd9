/** What the kubelet does with a path before it asks who sends the request: unusual forms are redirected, unknown ones are 404. */
import type { IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import { RequestError, type Route } from '../routes/route.ts';
import type { RequestTarget } from './request-path.ts';

export const NO_PAGE = new RequestError(404, '404 page not found\n', { 'X-Content-Type-Options': 'nosniff' });
/** Below a known path, and told only to those who may ask. */
export const NO_PAGE_THERE = new RequestError(404, '404: Page Not Found');

/** Throws the redirect to the clean form of the path. Escapes in it are escaped once more: whoever follows gets the kubelet's 404. */
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

/** Below these, requests are let in or refused before it is looked at what is there; those with a slash at their end must have it. */
const ROOTS = ['/pods', '/containerLogs', '/exec', '/attach', '/portForward', '/run'];
const ROOTS_WITH_SLASH = ['/stats/', '/logs/', '/runningpods/', '/checkpoint/', '/debug/pprof/'];

/** The trees of paths in which there are routes. */
export class PathTrees {
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

/** Without `//`, `.` and `..`; a slash at the end stays. No path is the root's. */
function cleaned(path: string): string {
  if (path === '') return '/';
  const clean = posix.normalize(path);
  return path.endsWith('/') || !clean.endsWith('/') || clean === '/' ? clean : clean.slice(0, -1);
}
