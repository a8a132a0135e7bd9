/** Finds the route of a path. A named part (`:pod`) is one part of the path that is not empty; `*` is all that is left. */
import { RequestError, type Route } from '../routes/route.ts';

export interface FoundRoute {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly parts: readonly string[];
  readonly route: Route;
}

export class Router {
  readonly #exact = new Map<string, Route>();
  /** By the first part of the path, so that a search looks only at routes that may fit. */
  readonly #patterns = new Map<string, Pattern[]>();

  /** Of two routes that fit a path, one without named parts wins, else the first. */
  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  find(path: string): FoundRoute | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return { route: exact, params: {} };
    const given = path.split('/');
    for (const { parts, route } of this.#patterns.get(given[1] ?? '') ?? []) {
      const params = matched(parts, given);
      if (params !== undefined) return { route, params };
    }
    return undefined;
  }

  #add(route: Route): void {
    const parts = route.path.split('/');
    if (!parts.some(isVariable)) {
      if (!this.#exact.has(route.path)) this.#exact.set(route.path, route);
      return;
    }
    const first = parts[1] ?? '';
    const others = this.#patterns.get(first) ?? [];
    this.#patterns.set(first, [...others, { parts, route }]);
  }
}

function isVariable(part: string): boolean {
  return part === '*' || part.startsWith(':');
}

function matched(parts: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const value = given[index];
    if (value === undefined) return undefined;
    if (part === '*') return { ...params, '*': given.slice(index).join('/') };
    if (part.startsWith(':')) {
      if (value === '') return undefined;
      params[part.slice(1)] = value;
    } else if (part !== value) return undefined;
  }
  return parts.length === given.length ? params : undefined;
}

export interface RequestTarget {
  /** The path as it was sent. */
  readonly rawPath: string;
  /** Decoded once: `%2F` is a slash, `%252F` is `%2F`. Not cleaned: `..` stays. */
  readonly path: string;
  /** As it was sent, without `?`. */
  readonly query: string;
}

const BROKEN_ESCAPE = /%(?![\da-f]{2})/iu;

const ESCAPED = /%([\da-f]{2})/giu;

/** `http:` of `http://HOST/path`, as clients send it to a proxy. */
const SCHEME = /^[a-z][a-z\d+.-]*:/iu;

const AUTHORITY = /^\/\/[^/]*/u;

/**
 * Path and query of a request, read as the kubelet reads them. Throws a `RequestError` (400) if they are no path. `*` stands for the
 * server as a whole. A URL with a scheme may have an empty path.
 */
export function requestTarget(url = '/'): RequestTarget {
  if (url === '*') return { rawPath: '*', path: '*', query: '' };
  const [scheme = ''] = SCHEME.exec(url) ?? [];
  const [rest, query] = cut(url.slice(scheme.length), '?');
  const raw = scheme === '' ? rest : pathBehindScheme(rest);
  if ((scheme === '' && !raw.startsWith('/')) || BROKEN_ESCAPE.test(raw))
    throw new RequestError(400, '400 Bad Request', { Connection: 'close' });
  return { rawPath: raw, path: raw.includes('%') ? decoded(raw) : raw, query };
}

/** Without a slash, what is behind the scheme is no path: `mailto:me`. */
function pathBehindScheme(rest: string): string {
  return rest.startsWith('/') ? rest.replace(AUTHORITY, '') : '';
}

function cut(text: string, mark: string): readonly [before: string, behind: string] {
  const place = text.indexOf(mark);
  return place < 0 ? [text, ''] : [text.slice(0, place), text.slice(place + mark.length)];
}

/** Bytes that are not UTF-8 become replacement characters, which no name has. */
function decoded(raw: string): string {
  const bytes = raw.replaceAll(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
