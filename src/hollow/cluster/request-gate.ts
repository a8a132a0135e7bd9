/** Lets so many requests of all nodes go to the API server at a time: what waits here has no time limit yet, what waits there has. */

/** What comes first: a node that cannot renew its lease is taken for dead. */
export type RequestRank = 'heartbeat' | 'main' | 'event';

const AT_ONCE = 64;

export class RequestGate {
  readonly #waiting: Readonly<Record<RequestRank, Set<() => void>>> = {
    heartbeat: new Set(),
    main: new Set(),
    event: new Set(),
  };
  #inside = 0;

  async pass<T>(rank: RequestRank, request: () => Promise<T>): Promise<T> {
    if (this.#inside < AT_ONCE) this.#inside += 1;
    else {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      this.#waiting[rank].add(() => resolve(undefined));
      await promise;
    }
    try {
      return await request();
    } finally {
      this.#leave();
    }
  }

  /** Whoever waits takes the place over. */
  #leave(): void {
    for (const waiting of Object.values(this.#waiting)) {
      for (const enter of waiting) {
        waiting.delete(enter);
        enter();
        return;
      }
    }
    this.#inside -= 1;
  }
}
