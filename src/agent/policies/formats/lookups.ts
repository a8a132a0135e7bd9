/** Look-ups by name in lists that may be long, and a map of limited size. */

import { compareTexts } from './text-order.ts';

/** A list that is this short is searched faster than an index is made. */
const SHORT_MAX = 32;

const indexes = new WeakMap<readonly object[], ReadonlyMap<string, object>>();

/**
 * The first in the list with that name. A pod may have thousands of containers, and each is looked up many times: a long list gets an
 * index at its first look-up, so it must not be changed after that.
 */
export function named<T extends { readonly name: string }>(list: readonly T[], name: string): T | undefined {
  if (list.length <= SHORT_MAX) return list.find((one) => one.name === name);
  let index = indexes.get(list);
  if (index === undefined) {
    // Of several with one name the first counts: it is set last.
    index = new Map(list.map((one) => [one.name, one] as const).reverse());
    indexes.set(list, index);
  }
  return index.get(name) as T | undefined;
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return compareTexts(a.name, b.name);
}

/** A map of at most `max` entries: when it is full, a new entry replaces the least recently used one. */
export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#max && !oldest.done) this.#entries.delete(oldest.value);
  }
}
