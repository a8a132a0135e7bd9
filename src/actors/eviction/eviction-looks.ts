import type { EvictionContext, EvictionEvent } from '../../machines/eviction-machine.ts';
import type { Clock, TimerHandle } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import { type EvictionFigures, type EvictionStats, isWatchedMemory } from './eviction-figures.ts';

/** The kubelet's. */
const MONITORING_PERIOD_MS = 10_000;
/**
 * Memory comes and goes around a threshold: what the watch has seen may be gone when the node is measured, and be back a
 * moment later without being told again. So often it is looked once more, at this distance.
 */
const LOOKS_IN_DOUBT = 8;
const DOUBT_PERIOD_MS = 250;

/** What is looked at. Memory alone is known at once: neither the runtime nor a disk has to be asked. */
export type LookScope = 'all' | 'memory';

export interface Look {
  readonly scope: LookScope;
  /** Aborts when memory has become short meanwhile: what is not known by then is not waited for. */
  readonly hurried: AbortSignal;
}

export interface EvictionLooksOptions {
  readonly figures: EvictionFigures;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether a look that is asked for now would be taken now. */
  readonly isObserving: () => boolean;
  /** Whether something is being removed of the node: memory does not wait for that. */
  readonly isReclaiming: () => boolean;
  readonly observe: () => void;
}

/** When the node is looked at, and what of it: all every ten seconds, and what has changed, or is near its threshold, at once. */
export class EvictionLooks {
  readonly #options: EvictionLooksOptions;
  readonly #watches: { stop(): void }[] = [];
  #timer: TimerHandle | undefined;
  #current: Look = { scope: 'all', hurried: new AbortController().signal };
  #hurry = new AbortController();
  /** When everything is to be looked at again. */
  #allDueMs = 0;
  /** What has come up during a pass and is to be looked at once that is over. */
  #urgent: LookScope | undefined;
  /** How often it is to be looked yet for what the watch has told and the figures do not say. */
  #looksInDoubt = 0;
  #isStopped = false;

  constructor(options: EvictionLooksOptions) {
    this.#options = options;
  }

  /** The latest: the one that is under way, if any. */
  get current(): Look {
    return this.#current;
  }

  watch(): void {
    void this.#watch('memory', async (figures) => {
      const thresholds = await figures.memoryThresholds();
      if (thresholds.length === 0) return undefined;
      return (stats) =>
        stats.watchMemory(thresholds, ({ isBelow }) => {
          this.#looksInDoubt = isBelow ? LOOKS_IN_DOUBT : 0;
          if (isBelow) this.hurry('memory');
        });
    });
    void this.#watch('pressure', (figures) => {
      const thresholds = figures.pressureThresholds();
      if (thresholds.length === 0) return undefined;
      return (stats) =>
        stats.watchPressure(thresholds, ({ isAbove, resource }) => {
          if (isAbove) this.hurry(resource === 'memory' ? 'memory' : 'all');
        });
    });
  }

  /** The last pass ended with this event. */
  arm({ state, shortage }: EvictionContext, { type }: EvictionEvent): void {
    if (this.#current.scope === 'all') this.#allIsOver();
    if (type !== 'RELIEVED' && state.firstObserved.some(({ threshold }) => isWatchedMemory(threshold)))
      this.#looksInDoubt = 0;
    const urgent = this.#urgent;
    this.#urgent = undefined;
    if (type === 'CLEANED_UP' || type === 'POD_FAILED')
      this.#armAfter(0, shortage?.resource === 'memory' && urgent !== 'all' ? 'memory' : 'all');
    else if (urgent !== undefined) this.#armAfter(0, urgent);
    else this.#armPeriod();
  }

  disarm(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** At once, or as soon as the pass that is under way is over. */
  hurry(scope: LookScope): void {
    const { isObserving, isReclaiming } = this.#options;
    if (isObserving() || (scope === 'memory' && isReclaiming())) {
      if (isReclaiming()) this.#allIsOver();
      this.#look(scope);
      return;
    }
    this.#urgent = this.#urgent === 'all' ? 'all' : scope;
    if (scope === 'memory') this.#hurry.abort();
  }

  stop(): void {
    this.#isStopped = true;
    for (const watch of this.#watches) watch.stop();
    this.disarm();
  }

  #look(scope: LookScope): void {
    this.#hurry = new AbortController();
    this.#current = { scope, hurried: this.#hurry.signal };
    this.#options.observe();
  }

  #allIsOver(): void {
    this.#allDueMs = this.#options.clock.now() + MONITORING_PERIOD_MS;
  }

  #armPeriod(): void {
    const delayMs = Math.max(0, this.#allDueMs - this.#options.clock.now());
    if (this.#looksInDoubt === 0 || delayMs <= DOUBT_PERIOD_MS) {
      this.#armAfter(delayMs, 'all');
      return;
    }
    this.#looksInDoubt -= 1;
    this.#armAfter(DOUBT_PERIOD_MS, 'memory');
  }

  #armAfter(delayMs: number, scope: LookScope): void {
    this.#timer = this.#options.clock.setTimeout(() => this.#look(scope), delayMs);
  }

  /** What cannot be watched is looked at in every pass all the same. */
  async #watch(
    what: string,
    prepare: (figures: EvictionFigures) => Starter | undefined | Promise<Starter | undefined>,
  ): Promise<void> {
    const { figures, logger } = this.#options;
    try {
      const start = await prepare(figures);
      if (start === undefined) return;
      const stats = await figures.stats();
      if (!this.#isStopped) this.#watches.push(start(stats));
    } catch (error) {
      const every = `every ${MONITORING_PERIOD_MS / 1000} s only`;
      logger.warn({}, `Eviction manager: ${what} is looked at ${every}: ${errorMessage(error)}`);
    }
  }
}

type Starter = (stats: EvictionStats) => { stop(): void };
