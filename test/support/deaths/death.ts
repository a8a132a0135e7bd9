/** Kills a daemon by SIGKILL at an exact point of its calls to the runtime. */
import type { Daemon } from '../daemon.ts';
import type { Fate, RuntimeTap } from '../runtime-tap.ts';

/**
 * `before` the call reaches the runtime; `during` the work of the runtime, which learns that the caller is gone;
 * `after` the call has been carried out; `late`: the call reaches the runtime when another daemon runs.
 */
export const WHENS = ['before', 'during', 'after', 'late'] as const;
export type When = (typeof WHENS)[number];
const FATES = { before: 'lost', during: 'passes', late: 'held' } as const;

export interface DeathPoint {
  readonly when: When;
  /** The calls that are counted; default: all calls, also those that change nothing. */
  readonly calls?: readonly string[];
  /** The number of the call, from 1. */
  readonly nth: number;
}

/** Kills a daemon when it reaches the point. */
export class Death {
  /** Resolves when the daemon has been killed there; it may never reach the point. */
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

  /** The call at which the daemon was killed; undefined before. */
  get call(): string | undefined {
    return this.#call;
  }

  /** Cancels the death. */
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
