/** The calls of this client that are under way and lead to events. */
export class OwnCalls {
  readonly #ending = new Map<string, Ending>();
  #creating = 0;
  #nextCreated = Promise.withResolvers<undefined>();

  /** Notes a call that creates a container or a sandbox. */
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

  /** Resolves when the next creating call returns; undefined if none is under way. */
  nextCreated(): Promise<undefined> | undefined {
    return this.#creating === 0 ? undefined : this.#nextCreated.promise;
  }

  /** Notes a call that ends a container or a sandbox. */
  async ending<T>(id: string, work: Promise<T>): Promise<T> {
    const ending = this.#ending.get(id) ?? { calls: 0, ended: Promise.withResolvers<undefined>() };
    ending.calls += 1;
    this.#ending.set(id, ending);
    try {
      return await work;
    } finally {
      ending.calls -= 1;
      if (ending.calls === 0) {
        this.#ending.delete(id);
        ending.ended.resolve(undefined);
      }
    }
  }

  /** Resolves when the last ending call for that id returns; undefined if none is under way. */
  whenEnded(id: string | undefined): Promise<undefined> | undefined {
    return id === undefined ? undefined : this.#ending.get(id)?.ended.promise;
  }
}

interface Ending {
  calls: number;
  readonly ended: PromiseWithResolvers<undefined>;
}
