/** The pods that are to be ended, in the order in which they came. At most `burst` of them go at a time; below 0: all. */
export class EvictionQueue<T extends { readonly uid: string }> {
  readonly #burst: number;
  readonly #entries = new Map<string, T>();

  constructor(burst: number) {
    this.#burst = burst;
  }

  get entries(): readonly T[] {
    return [...this.#entries.values()];
  }

  /** A pod that is queued already keeps its place. */
  add(entries: readonly T[]): void {
    for (const entry of entries) if (!this.#entries.has(entry.uid)) this.#entries.set(entry.uid, entry);
  }

  /** What was queued, and has not been taken, is not wanted any more. */
  replace(entries: readonly T[]): void {
    this.#entries.clear();
    this.add(entries);
  }

  withdraw(uids: readonly string[]): void {
    for (const uid of uids) this.#entries.delete(uid);
  }

  /** Takes the first ones. */
  take(): readonly T[] {
    const { entries } = this;
    const taken = this.#burst < 0 ? entries : entries.slice(0, this.#burst);
    this.withdraw(taken.map(({ uid }) => uid));
    return taken;
  }
}
