/** Which calls of this client are under way, for events that stem from them. */
export class OwnCalls {
  readonly #ending = new Map<string, Ending>();
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

  /** Resolves when the last of these calls for that id comes back; undefined where none is under way. */
  whenEnded(id: string | undefined): Promise<undefined> | undefined {
    return id === undefined ? undefined : this.#ending.get(id)?.ended.promise;
  }
}

interface Ending {
  calls: number;
  readonly ended: PromiseWithResolvers<undefined>;
}
