/** Which calls of this client are under way, for events that stem from them. */
export class OwnCalls {
  readonly #ending = new Map<string, number>();
  #creating = 0;
  #nextCreated = Promise.withResolvers<undefined>();

  /** A call whose answer is the id of something new. */
  async creating<T>(work: Promise<T>): Promise<T> {
    this.#creating += 1;
    try {
      return await work;
    } finally {
      this.#creating -= 1;
      this.#nextCreated.resolve(undefined);
      this.#nextCreated = Promise.withResolvers();
    }
  }

  /** Resolves when one of these calls comes back; undefined where none is under way. */
  nextCreated(): Promise<undefined> | undefined {
    return this.#creating === 0 ? undefined : this.#nextCreated.promise;
  }

  /** A call that ends a container or a sandbox. */
  async ending<T>(id: string, work: Promise<T>): Promise<T> {
    this.#ending.set(id, (this.#ending.get(id) ?? 0) + 1);
    try {
      return await work;
    } finally {
      const left = (this.#ending.get(id) ?? 1) - 1;
      if (left === 0) this.#ending.delete(id);
      else this.#ending.set(id, left);
    }
  }

  isEnding(id: string | undefined): boolean {
    return id !== undefined && this.#ending.has(id);
  }
}
