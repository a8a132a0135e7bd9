/** Checks that the cluster counts on the devices of a DRA driver only while the driver is registered. It outlives the agents of its node. */
export interface SlicesJudgeOptions {
  readonly now: () => number;
  readonly isPublished: () => boolean;
  /** Since when the driver is registered with the agent, Unix ms; undefined where it is not there, or not yet. */
  readonly registeredAt: () => number | undefined;
  readonly isThere: () => boolean;
  /** When its last process has ended, Unix ms; 0 while it runs. */
  readonly goneAt: () => number;
  /** Whether its last process was registered with the agent. */
  readonly wasRegistered: () => boolean;
  /** Whether the API server answers. */
  readonly isReachable: () => boolean;
  readonly violated: (what: string) => void;
}

/** Longer than an agent waits for a driver that is gone, and than the first pause after a request that has failed. */
const KEPT_MS = 45_000;
/** A deletion that was sent while the driver was away may be carried out so late. */
const LATE_MS = 60_000;
/** A request so long after the one before it has another reason. */
const PAUSE_MS = 5_000;

export class SlicesJudge {
  readonly #options: SlicesJudgeOptions;
  /** Since when they are there without their driver, Unix ms. */
  #since: number | undefined;
  /** The present agent has deleted what was there. As with the kubelet, it never hears of a driver that publishes after that without being registered. */
  #isCleared = false;
  /** It awaits an answer. */
  #isAsking = false;
  /** Its connection. */
  #agent = 0;
  /** By the connection of an agent: when its last request was done, Unix ms. */
  readonly #done = new Map<number, number>();
  /** Agents that have done their first task: an agent begins with the deletion of all ResourceSlices, and tries until it succeeds. */
  readonly #begun = new Set<number>();

  constructor(options: SlicesJudgeOptions) {
    this.#options = options;
  }

  /** `isAtWork`: an agent runs, and has started completely. */
  housekeeping(isAtWork: boolean): void {
    const { now, isPublished, isThere, goneAt, isReachable, wasRegistered, violated } = this.#options;
    const isExcused = this.#isAsking || (this.#isCleared && !wasRegistered());
    if (!isAtWork || isExcused || !isReachable() || isThere() || !isPublished()) {
      this.#since = undefined;
      return;
    }
    // It may have been there for a moment between two of these calls.
    this.#since = Math.max(this.#since ?? now(), goneAt());
    if (now() - this.#since > KEPT_MS) violated('its ResourceSlices are kept, and it is gone');
  }

  /** The agent with that connection asks for ResourceSlices: after a failure it tries again some time later. */
  asked(connection: number): void {
    const { now } = this.#options;
    if (now() - (this.#done.get(connection) ?? now()) > PAUSE_MS) this.#begun.add(connection);
    this.#done.delete(connection);
    if (connection !== this.#agent) this.#isCleared = false;
    this.#agent = connection;
    this.#isAsking = true;
  }

  answered(connection: number, isDone: boolean): void {
    if (isDone) this.#done.set(connection, this.#options.now());
    if (connection === this.#agent) this.#isAsking = false;
    this.#since = undefined;
  }

  deleted(connection: number): void {
    if (connection === this.#agent) this.#isCleared = true;
    const { now, registeredAt, violated } = this.#options;
    if (this.#begun.has(connection) && now() - (registeredAt() ?? now()) > LATE_MS)
      violated('its ResourceSlices are deleted, and it is there');
  }
}
