import type { EvictionContext, EvictionEvent } from '../machines/eviction-machine.ts';
import type { Clock, TimerHandle } from '../types/clock.ts';
import { errorMessage } from '../types/errors.ts';
import type { Logger } from '../types/logger.ts';
import { type EvictionFigures, type EvictionStats, isWatchedMemory } from './eviction-figures.ts';

/** The kubelet's. */
const MONITORING_PERIOD_MS = 10_000;
/**
 * Memory comes and goes around a threshold: what the watch has seen may be gone when the node is measured, and be back a
 * moment later without being told again. So often it is looked once more, at this distance.
 */
const LOOKS_IN_DOUBT = 8;
const DOUBT_PERIOD_MS = 250;

export interface EvictionLooksOptions {
  readonly figures: EvictionFigures;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether a look that is asked for now would be taken now. */
  readonly isObserving: () => boolean;
  readonly observe: () => void;
}

/** When the node is looked at: every ten seconds, and when something is near its threshold or has changed. */
export class EvictionLooks {
  readonly #options: EvictionLooksOptions;
  readonly #watches: { stop(): void }[] = [];
  #timer: TimerHandle | undefined;
  /** Something has happened during a pass that wants another look at once. */
  #isUrgent = false;
  /** How often it is to be looked yet for what the watch has told and the figures do not say. */
  #looksInDoubt = 0;
  #isStopped = false;

  constructor(options: EvictionLooksOptions) {
    this.#options = options;
  }

  watch(): void {
    void this.#watch('memory', async (figures) => {
      const thresholds = await figures.memoryThresholds();
      if (thresholds.length === 0) return undefined;
      return (stats) =>
        stats.watchMemory(thresholds, ({ isBelow }) => {
          this.#looksInDoubt = isBelow ? LOOKS_IN_DOUBT : 0;
          if (isBelow) this.hurry();
        });
    });
    void this.#watch('pressure', (figures) => {
      const thresholds = figures.pressureThresholds();
      if (thresholds.length === 0) return undefined;
      return (stats) => stats.watchPressure(thresholds, ({ isAbove }) => isAbove && this.hurry());
    });
  }

  /** The last pass ended with this event. */
  arm({ state }: EvictionContext, { type }: EvictionEvent): void {
    if (type !== 'RELIEVED' && state.firstObserved.some(({ threshold }) => isWatchedMemory(threshold)))
      this.#looksInDoubt = 0;
    const isAtOnce = type === 'CLEANED_UP' || type === 'POD_FAILED' || this.#isUrgent;
    const delayMs = isAtOnce ? 0 : this.#periodMs();
    this.#isUrgent = false;
    this.#timer = this.#options.clock.setTimeout(this.#options.observe, delayMs);
  }

  disarm(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** At once, or as soon as the pass that is under way is over. */
  hurry(): void {
    const { isObserving, observe } = this.#options;
    this.#isUrgent = !isObserving();
    if (!this.#isUrgent) observe();
  }

  stop(): void {
    this.#isStopped = true;
    for (const watch of this.#watches) watch.stop();
    this.disarm();
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

  #periodMs(): number {
    if (this.#looksInDoubt === 0) return MONITORING_PERIOD_MS;
    this.#looksInDoubt -= 1;
    return DOUBT_PERIOD_MS;
  }
}

type Starter = (stats: EvictionStats) => { stop(): void };
