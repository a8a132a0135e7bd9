/** Calls of a cluster's controllers to a CSI driver of the plan: they take their time, fail by plan, and are tried again. */
import type { WatchContext } from '../../agent/cluster/watches/reflect.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { type Range, within } from '../../simulation/runtime/chance.ts';
import { sleep } from '../../system/timer.ts';
import { untilDone } from '../../system/until-done.ts';
import { StateletError } from '../../types/errors.ts';

/** Those of external-attacher and external-resizer. */
const RETRY = { firstMs: 1_000, mostMs: 300_000 };

/** What a call needs of the plan. */
interface PlannedCall {
  readonly ms: Range;
  /** The share of calls that fail, from 0 to 1. */
  readonly failures: number;
}

/** Rejects where the driver fails. */
export type PlannedCaller = (planned: PlannedCall) => Promise<void>;

/** The work for one object. Rejects where it has to be tried again. */
export type PlannedWork = (call: PlannedCaller, signal: AbortSignal) => Promise<void>;

export class PlannedCalls {
  readonly #context: WatchContext;
  readonly #random: KeyedRandom;
  /** By the key of the object. */
  readonly #underWay = new Map<string, AbortController>();

  constructor(context: WatchContext, random: KeyedRandom) {
    this.#context = context;
    this.#random = random;
  }

  isUnderWay(key: string): boolean {
    return this.#underWay.has(key);
  }

  underWay(): Iterable<string> {
    return this.#underWay.keys();
  }

  /** Tries until the work is done, or ended by `end`. Then `onDone` is called. */
  begin(key: string, work: PlannedWork, onDone: () => void = () => undefined): void {
    const { clock, logger } = this.#context;
    const life = new AbortController();
    const { signal } = life;
    this.#underWay.set(key, life);
    let attempt = 0;
    const attemptOnce = () => {
      attempt += 1;
      const draws = `${key}/${String(attempt)}`;
      return work((planned) => this.#call(draws, planned, signal), signal);
    };
    const onFailure = (problem: string) =>
      logger.debug({ object: key }, `A call to a CSI driver is tried again: ${problem}`);
    untilDone(clock, attemptOnce, { ...RETRY, signal, onFailure })
      .then(() => {
        if (signal.aborted) return;
        this.#underWay.delete(key);
        onDone();
      })
      .catch(() => undefined);
  }

  end(key: string): void {
    this.#underWay.get(key)?.abort();
    this.#underWay.delete(key);
  }

  endAll(): void {
    for (const life of this.#underWay.values()) life.abort();
    this.#underWay.clear();
  }

  async #call(draws: string, { ms, failures }: PlannedCall, signal: AbortSignal): Promise<void> {
    await sleep(this.#context.clock, within(ms, this.#random(`${draws}/ms`)), signal);
    if (this.#random(`${draws}/fails`) < failures)
      throw new StateletError(
        'Unavailable',
        'rpc error: code = Unavailable desc = the driver fails, by plan',
      );
  }
}
