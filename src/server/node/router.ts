/** Finds the route of a path. A named part (`:pod`) is one part of the path that is not empty; `*` is all that is left. */
import type { Route } from '../routes/route.ts';

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
