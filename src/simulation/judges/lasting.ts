/** Finds what is wrong only if it lasts, since an agent needs time to change it. */
export class Lasting<Key> {
  readonly #limitMs: number;
  /** Unix ms. */
  readonly #since = new Map<Key, number>();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** `wrong`: all that is wrong now. Returns what has been wrong at each look for longer than the limit. */
  look(now: number, wrong: Iterable<Key>): readonly Key[] {
    const all = new Set(wrong);
    for (const key of this.#since.keys()) if (!all.has(key)) this.#since.delete(key);
    for (const key of all) if (!this.#since.has(key)) this.#since.set(key, now);
    return [...all].filter((key) => now - (this.#since.get(key) ?? now) > this.#limitMs);
  }
}
