/** The memory of a simulated node that its pods use: it follows from what really runs, and for how long. */
import type { MemorySignal } from '../../agent/policies/eviction/signals.ts';
import type { ContainerTruth } from '../runtime/witness.ts';
import {
  drawn,
  drawnGrowth,
  grown,
  type Growth,
  GROWTH_MS,
  type KeyedRandom,
  type UseHabits,
} from './growth.ts';
import { type RunningTruth, runningUse, total } from './node-use.ts';

const MI = 2 ** 20;
/** What the node uses itself. */
const SYSTEM_BYTES = 128 * MI;
/** What a sandbox uses without its containers. */
const SANDBOX_BYTES = MI;
/** What a container that requests nothing counts as. */
const LEAST_BYTES = 64 * MI;
/** What containers use at their start, as a share of what they request. */
const HABITS: UseHabits = {
  shares: [0.3, 0.6, 0.9, 0.9, 1.3, 2],
  growing: 0.2,
  maxPerMs: (2 * MI) / 1000,
};

export interface MemorySize {
  readonly capacityBytes: number;
  /** What all pods together may use; undefined if that is all memory. */
  readonly podsBytes: number | undefined;
  /** By default many use much, and some leak. */
  readonly habits?: UseHabits;
}

export interface SimulatedMemoryOptions extends MemorySize {
  readonly now: () => number;
  readonly random: KeyedRandom;
  readonly runtime: RunningTruth;
  /** What the container requests, in bytes. */
  readonly requestOf: (uid: string, container: string) => number;
}

/** At one moment. */
export interface MemoryUse {
  readonly left: ReadonlyMap<MemorySignal, number>;
  /** By UID, of pods with something running. */
  readonly bytesOf: ReadonlyMap<string, number>;
}

export class SimulatedMemory {
  readonly #options: SimulatedMemoryOptions;
  /** The random growth of each container: its memory at the start is a share of its request. */
  readonly #drawn = new WeakMap<ContainerTruth, Growth>();

  constructor(options: SimulatedMemoryOptions) {
    this.#options = options;
  }

  /** Undefined if no such limit is set. */
  capacityOf(signal: MemorySignal): number | undefined {
    const { capacityBytes, podsBytes } = this.#options;
    return signal === 'memory.available' ? capacityBytes : podsBytes;
  }

  /** At that time, if nothing starts or ends before. */
  at(atMs = this.#options.now()): MemoryUse {
    const { runtime, capacityBytes, podsBytes } = this.#options;
    const container = (truth: ContainerTruth) => this.#growthOf(truth);
    const bytesOf = runningUse(runtime, atMs, { sandbox: SANDBOX_BYTES, container });
    const used = total(bytesOf);
    const left = new Map<MemorySignal, number>([
      ['memory.available', Math.max(0, capacityBytes - SYSTEM_BYTES - used)],
    ]);
    if (podsBytes !== undefined) left.set('allocatableMemory.available', Math.max(0, podsBytes - used));
    return { left, bytesOf };
  }

  /** Bytes, while it runs. */
  ofContainer(container: ContainerTruth, atMs: number): number {
    return grown(this.#growthOf(container), atMs - container.startedAt);
  }

  /** When less than that will be left, Unix ms, if nothing starts or ends before; undefined if never. */
  nextBelow(signal: MemorySignal, thresholdBytes: number): number | undefined {
    const isBelow = (atMs: number) => (this.at(atMs).left.get(signal) ?? Infinity) < thresholdBytes;
    let [early, late] = [this.#options.now(), this.#options.now() + GROWTH_MS];
    if (!isBelow(late)) return undefined;
    // Usage only grows while nothing ends.
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (isBelow(middle)) late = middle;
      else early = middle;
    }
    return late;
  }

  #growthOf(truth: ContainerTruth): Growth {
    const { uid, metadata } = truth;
    const { atStart: share, perMs } = this.#drawn.get(truth) ?? this.#draw(truth);
    return { atStart: share * Math.max(LEAST_BYTES, this.#options.requestOf(uid, metadata.name)), perMs };
  }

  #draw(truth: ContainerTruth): Growth {
    const { random, habits: { shares, ...leak } = HABITS } = this.#options;
    const key = `memory/${truth.uid}/${truth.metadata.name}`;
    const growth = drawnGrowth(random, key, { atStart: drawn(shares, random(key)) ?? 1, ...leak });
    this.#drawn.set(truth, growth);
    return growth;
  }
}
