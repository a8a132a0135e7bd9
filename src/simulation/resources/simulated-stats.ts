/** The figures of a simulated node, as one agent gets them. */
import type { EvictionStats } from '../../actors/eviction/eviction-figures.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import type { Summary } from '../../types/stats.ts';
import { SimulatedWatch, type Watcher } from './simulated-memory-watch.ts';
import type { NodeUse, StorageUse } from './node-use.ts';
import type { MemorySignal } from './simulated-memory.ts';
import type { SimulatedResources } from './simulated-resources.ts';
import { summaryOf } from './summary.ts';

/** Probabilities, from 0 to 1, of what may go wrong when a node is measured. */
export interface StatsFaults {
  readonly fail: number;
  readonly slow: number;
}

/** Measured, then answered: each takes so long. */
const MAX_HALF_MS = 4;
const SLOWNESS = 500;
/** Of what pods have on disk, unless somebody wants to know it better. */
const STORAGE_MAX_AGE_MS = 60_000;

export interface SimulatedStatsOptions {
  readonly resources: SimulatedResources;
  /** The agent's: nothing is answered once it is dead. */
  readonly clock: Clock;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly faults: () => StatsFaults;
  readonly nameOf: (uid: string) => string | undefined;
  /** The node is to be measured; returns what is to be called with what the agent is told. */
  readonly onMeasure: () => (use: NodeUse, isWhole: boolean) => void;
}

/** What somebody wants to know, in the words of the production stats. */
interface SummaryRequest {
  readonly onlyNode?: boolean;
  readonly onlyCPUAndMemory?: boolean;
  readonly diskUsageMaxAgeMs?: number;
  readonly diskUsagePatienceMs?: number;
  /** Aborts when what is known at once is enough. */
  readonly signal?: AbortSignal;
}

export class SimulatedStats implements EvictionStats {
  readonly #options: SimulatedStatsOptions;
  readonly #watches = new Set<SimulatedWatch>();
  /** By UID. */
  #storage: ReadonlyMap<string, StorageUse> = new Map();
  #asked = 0;

  constructor(options: SimulatedStatsOptions) {
    this.#options = options;
  }

  async summary(asked: SummaryRequest = {}): Promise<Summary> {
    const { resources, random, faults, nameOf, onMeasure } = this.#options;
    const told = onMeasure();
    const key = `summary/${String(++this.#asked)}`;
    const isSlow = random(`${key}/slow`) < faults().slow;
    const halfMs = 1 + MAX_HALF_MS * random(key) * (isSlow ? SLOWNESS : 1);
    await this.#passes(halfMs, asked.signal);
    const use = this.#measured(asked);
    await this.#passes(halfMs, asked.signal);
    if (random(`${key}/fail`) < faults().fail)
      throw new StateletError('Unavailable', 'the figures of the node cannot be read');
    told(use, asked.onlyNode !== true);
    return summaryOf(use, resources, nameOf);
  }

  diskLayout(): ReturnType<EvictionStats['diskLayout']> {
    const { dedicatedImageFs = false, splitContainerFs = false } =
      this.#options.resources.storage?.sizes.layout ?? {};
    return Promise.resolve({ dedicatedImageFs, dedicatedContainerFs: splitContainerFs });
  }

  memoryAvailable(signal: MemorySignal): ReturnType<EvictionStats['memoryAvailable']> {
    const capacityBytes = this.#options.resources.memory?.capacityOf(signal);
    return capacityBytes === undefined ? undefined : { capacityBytes };
  }

  watchMemory(...watcher: Watcher): { stop(): void } {
    const { resources, clock, random } = this.#options;
    const watch = new SimulatedWatch({ resources, clock, random }, watcher);
    this.#watches.add(watch);
    return watch;
  }

  /** Here nobody ever waits. */
  watchPressure(): { stop(): void } {
    return { stop: () => undefined };
  }

  /** Nobody is told anything any more. */
  close(): void {
    for (const watch of this.#watches) watch.stop();
  }

  /** Not for one who is in a hurry. */
  #passes(delayMs: number, hurried?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (hurried?.aborted === true) resolve();
      hurried?.addEventListener('abort', () => resolve(), { once: true });
      this.#options.clock.setTimeout(resolve, delayMs);
    });
  }

  #measured({ onlyNode = false, onlyCPUAndMemory = false, signal, ...ofDisk }: SummaryRequest): NodeUse {
    const { resources } = this.#options;
    const isPartial = onlyCPUAndMemory || signal?.aborted === true;
    const [atMs, left] = [
      resources.now(),
      isPartial ? (resources.memory?.at().left ?? new Map()) : resources.left(),
    ];
    if (onlyNode) return { atMs, left, pods: new Map() };
    return {
      atMs,
      left,
      pods: isPartial ? resources.pods(() => undefined) : this.#podsWithStorage(atMs, ofDisk),
    };
  }

  /** Who does not wait for it gets what is known from before. */
  #podsWithStorage(
    atMs: number,
    { diskUsageMaxAgeMs = STORAGE_MAX_AGE_MS, diskUsagePatienceMs = 1 }: SummaryRequest,
  ): NodeUse['pods'] {
    const { resources } = this.#options;
    const known = new Map<string, StorageUse>();
    const pods = resources.pods((uid) => {
      const last = this.#storage.get(uid);
      const isFresh = last !== undefined && last.atMs >= atMs - diskUsageMaxAgeMs;
      const storage = isFresh ? last : resources.storage?.ofPod(uid);
      if (storage !== undefined) known.set(uid, storage);
      return diskUsagePatienceMs > 0 ? storage : last;
    });
    this.#storage = known;
    return pods;
  }
}
