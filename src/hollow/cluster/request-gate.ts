/** Lets so many requests of all nodes go to the API server at a time: what waits here has no time limit yet, what waits there has. */

/** What comes first: a node that cannot renew its lease is taken for dead. */
const RANKS = ['heartbeat', 'main', 'event'] as const;
export type RequestRank = (typeof RANKS)[number];

const AT_ONCE = 64;
/** One place in so many goes to others than heartbeats: a server that is slow would start no pod otherwise. */
const FOR_OTHERS = 4;
const OTHERS_FIRST = ['main', 'event', 'heartbeat'] as const;

export class RequestGate {
  readonly #waiting: Readonly<Record<RequestRank, Set<() => void>>> = {
    heartbeat: new Set(),
    main: new Set(),
    event: new Set(),
  };
  #inside = 0;
  #left = 0;

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
    this.#left += 1;
    for (const rank of this.#left % FOR_OTHERS === 0 ? OTHERS_FIRST : RANKS) {
      for (const enter of this.#waiting[rank]) {
        this.#waiting[rank].delete(enter);
        enter();
        return;
      }
    }
    this.#inside -= 1;
  }
}
