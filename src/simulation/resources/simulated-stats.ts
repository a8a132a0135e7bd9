/** The figures of a simulated node, as one agent gets them. */
import type { EvictionStats } from '../../actors/eviction-figures.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import type { Summary } from '../../types/stats.ts';
import { SimulatedWatch, type Watcher } from './memory-watch.ts';
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

export class SimulatedStats implements EvictionStats {
  readonly #options: SimulatedStatsOptions;
  readonly #watches = new Set<SimulatedWatch>();
  /** By UID. */
  #storage: ReadonlyMap<string, StorageUse> = new Map();
  #asked = 0;

  constructor(options: SimulatedStatsOptions) {
    this.#options = options;
  }

  async summary({ onlyNode = false, diskUsageMaxAgeMs = STORAGE_MAX_AGE_MS } = {}): Promise<Summary> {
    const { resources, random, faults, nameOf, onMeasure } = this.#options;
    const told = onMeasure();
    const key = `summary/${String(++this.#asked)}`;
    const isSlow = random(`${key}/slow`) < faults().slow;
    const halfMs = 1 + MAX_HALF_MS * random(key) * (isSlow ? SLOWNESS : 1);
    await this.#passes(halfMs);
    const use = this.#measured(onlyNode, diskUsageMaxAgeMs);
    await this.#passes(halfMs);
    if (random(`${key}/fail`) < faults().fail)
      throw new StateletError('Unavailable', 'the figures of the node cannot be read');
    told(use, !onlyNode);
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

  /** Nobody is told anything any more. */
  close(): void {
    for (const watch of this.#watches) watch.stop();
  }

  #passes(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.setTimeout(resolve, delayMs));
  }

  #measured(onlyNode: boolean, storageMaxAgeMs: number): NodeUse {
    const { resources } = this.#options;
    const [atMs, left] = [resources.now(), resources.left()];
    if (onlyNode) return { atMs, left, pods: new Map() };
    const oldest = atMs - storageMaxAgeMs;
    const known = new Map<string, StorageUse>();
    const pods = resources.pods((uid) => {
      const last = this.#storage.get(uid);
      const storage = last !== undefined && last.atMs >= oldest ? last : resources.storage?.ofPod(uid);
      if (storage !== undefined) known.set(uid, storage);
      return storage;
    });
    this.#storage = known;
    return { atMs, left, pods };
  }
}
