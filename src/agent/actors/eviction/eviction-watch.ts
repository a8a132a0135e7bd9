import type { EvictionEvent } from '../../machines/eviction-machine.ts';
import { MEASUREMENT_PERIOD_MS } from '../../policies/eviction/measurement-schedule.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';
import type { EvictionFigures, EvictionStats } from './eviction-figures.ts';

type Start = (stats: EvictionStats) => { stop(): void };

/** Watches memory and pressure stall information, and tells the eviction actor when thresholds are crossed. */
export class EvictionWatch {
  readonly #logger: Logger;
  readonly #figures: EvictionFigures;
  readonly #send: (event: EvictionEvent) => void;
  readonly #watches: { stop(): void }[] = [];
  #isStopped = false;

  /** `send`: to the eviction actor. */
  constructor({ logger }: AgentContext, figures: EvictionFigures, send: (event: EvictionEvent) => void) {
    this.#logger = logger;
    this.#figures = figures;
    this.#send = send;
  }

  start(): void {
    const [figures, send] = [this.#figures, this.#send];
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
    try {
      const start = await prepare();
      if (start === undefined) return;
      const stats = await this.#figures.stats();
      if (!this.#isStopped) this.#watches.push(start(stats));
    } catch (error) {
      const every = `every ${MEASUREMENT_PERIOD_MS / 1000} s only`;
      this.#logger.warn({}, `Eviction manager: ${what} is measured ${every}: ${errorMessage(error)}`);
    }
  }
}
