import type { EvictionEvent } from '../../machines/eviction-machine.ts';
import { MEASUREMENT_PERIOD_MS } from '../../policies/eviction/measurement-schedule.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import type { EvictionFigures, EvictionStats } from './eviction-figures.ts';

export interface EvictionWatchOptions {
  readonly figures: EvictionFigures;
  readonly logger: Logger;
  readonly send: (event: EvictionEvent) => void;
}

type Start = (stats: EvictionStats) => { stop(): void };

/** Watches memory and pressure stall information, and tells the eviction actor when thresholds are crossed. */
export class EvictionWatch {
  readonly #options: EvictionWatchOptions;
  readonly #watches: { stop(): void }[] = [];
  #isStopped = false;

  constructor(options: EvictionWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const { figures, send } = this.#options;
    void this.#watch('memory', async () => {
      const thresholds = await figures.memoryThresholds();
      if (thresholds.length === 0) return undefined;
      return (stats) =>
        stats.watchMemory(thresholds, ({ isBelow }) =>
          send({ type: isBelow ? 'MEMORY_SHORT' : 'MEMORY_ENOUGH' }),
        );
    });
    void this.#watch('pressure', () => {
      const thresholds = figures.pressureThresholds();
      if (thresholds.length === 0) return undefined;
      return (stats) =>
        stats.watchPressure(thresholds, ({ isAbove, resource }) => {
          if (isAbove) send({ type: resource === 'memory' ? 'MEMORY_STALLED' : 'IO_STALLED' });
        });
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const watch of this.#watches) watch.stop();
  }

  /** If the watch cannot be opened, a threshold that is crossed is found in the next pass. */
  async #watch(what: string, prepare: () => Start | undefined | Promise<Start | undefined>): Promise<void> {
    const { figures, logger } = this.#options;
    try {
      const start = await prepare();
      if (start === undefined) return;
      const stats = await figures.stats();
      if (!this.#isStopped) this.#watches.push(start(stats));
    } catch (error) {
      const every = `every ${MEASUREMENT_PERIOD_MS / 1000} s only`;
      logger.warn({}, `Eviction manager: ${what} is measured ${every}: ${errorMessage(error)}`);
    }
  }
}
