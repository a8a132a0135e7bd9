/** The figures of a simulated node for one agent. */
import type { EvictionStats } from '../../agent/actors/eviction/eviction-figures.ts';
import type { MemorySignal } from '../../agent/policies/eviction/signals.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import type { Summary } from '../../types/stats.ts';
import { SimulatedWatch, type Watcher } from './simulated-memory-watch.ts';
import type { NodeUse, StorageUse } from './node-use.ts';
import type { SimulatedResources } from './simulated-resources.ts';
import { summaryOf } from './summary.ts';

/** Probabilities, from 0 to 1, of what can go wrong when a node is measured. */
export interface StatsFaults {
  readonly fail: number;
  readonly slow: number;
}

/** How long measuring takes, and then answering. */
const MAX_HALF_MS = 4;
const SLOWNESS = 500;
/** The greatest age of disk usage, unless the agent asks for newer figures. */
const STORAGE_MAX_AGE_MS = 60_000;

export interface SimulatedStatsOptions {
  readonly resources: SimulatedResources;
  /** The clock of the agent: when the agent is dead, nothing is answered. */
  readonly clock: Clock;
  /** In [0, 1); the same for the same key. */
  readonly random: (key: string) => number;
  readonly faults: () => StatsFaults;
  readonly nameOf: (uid: string) => string | undefined;
  /** The agent measures the node; the result is called with the figures that it receives. */
  readonly onMeasure: () => (use: NodeUse, isWhole: boolean) => void;
}

/** What the agent asks for, as in the production stats. */
interface SummaryRequest {
  readonly onlyNode?: boolean;
  readonly onlyCPUAndMemory?: boolean;
  readonly diskUsageMaxAgeMs?: number;
  readonly diskUsagePatienceMs?: number;
  /** Aborts when figures that are known at once are enough. */
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
    const onReceived = onMeasure();
    const key = `summary/${String(++this.#asked)}`;
    const isSlow = random(`${key}/slow`) < faults().slow;
    const halfMs = 1 + MAX_HALF_MS * random(key) * (isSlow ? SLOWNESS : 1);
    await this.#passes(halfMs, asked.signal);
    const use = this.#measured(asked);
    await this.#passes(halfMs, asked.signal);
    if (random(`${key}/fail`) < faults().fail)
      throw new StateletError('Unavailable', 'the figures of the node cannot be read');
    onReceived(use, asked.onlyNode !== true);
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

  /** Simulated tasks never wait. */
  watchPressure(): { stop(): void } {
    return { stop: () => undefined };
  }

  /** No watch reports anything after this. */
  close(): void {
    for (const watch of this.#watches) watch.stop();
  }

  /** No latency if the measurement is hurried. */
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

  /** Without patience, figures that were measured before are returned. */
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
