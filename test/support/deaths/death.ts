/** The end of a daemon by SIGKILL, at an exact point of its talk with the runtime. */
import type { Daemon } from '../daemon.ts';
import type { Fate, RuntimeTap } from '../runtime-tap.ts';

/**
 * `before` the call reaches the runtime; `during` the time that the runtime takes over it, which is told that nobody waits
 * any more; `after` it has been carried out; `late`: the call reaches the runtime when another daemon lives.
 */
export const WHENS = ['before', 'during', 'after', 'late'] as const;
export type When = (typeof WHENS)[number];
const FATES = { before: 'lost', during: 'passes', late: 'held' } as const;

export interface DeathPoint {
  readonly when: When;
  /** The calls that count; without it all of them, also those that only ask. */
  readonly calls?: readonly string[];
  /** From 1. */
  readonly nth: number;
}

/** Kills a daemon when it gets to the point. */
export class Death {
  /** Resolves when the daemon has died there; it may never get there. */
  readonly done: Promise<undefined>;
  readonly #daemon: Daemon;
  readonly #tap: RuntimeTap;
  readonly #point: DeathPoint;
  readonly #happened = Promise.withResolvers<undefined>();
  #count = 0;
  #call: string | undefined;

  constructor(daemon: Daemon, tap: RuntimeTap, point: DeathPoint) {
    this.#daemon = daemon;
    this.#tap = tap;
    this.#point = point;
    this.done = this.#happened.promise;
    tap.decide = (call) => this.#decide(call);
  }

  /** The call at which the daemon was killed, once it was. */
  get call(): string | undefined {
    return this.#call;
  }

  /** It is not to die there any more. */
  callOff(): void {
    this.#tap.decide = undefined;
  }

  #decide(call: string): Fate {
    const { calls, nth, when } = this.#point;
    if (calls?.includes(call) === false) return 'passes';
    this.#count += 1;
    if (this.#count !== nth) return 'passes';
    if (when === 'after') return { carriedOut: () => this.#kill(call) };
    this.#kill(call);
    return FATES[when];
  }

  #kill(call: string): void {
    this.callOff();
    this.#call = call;
    this.#daemon.signal('SIGKILL');
    void this.#daemon.ended.then(() => this.#happened.resolve(undefined));
  }
}
