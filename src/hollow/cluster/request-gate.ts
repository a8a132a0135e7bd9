/**
 * Limits the requests of all nodes that are under way to the API server. The time limit of a request begins when it is sent, not
 * while it waits here.
 */

/** Heartbeats come first: a node that cannot renew its lease counts as dead. */
const RANKS = ['heartbeat', 'main', 'event'] as const;
export type RequestRank = (typeof RANKS)[number];

const AT_ONCE = 64;
/** One place in four goes to other requests than heartbeats: otherwise no pod would start while the server is slow. */
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

  /** The next waiting request gets the place. */
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
