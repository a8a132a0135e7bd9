/** What the pods of a simulated node use of its memory: it follows from what really runs, and for how long it has. */
import type { ContainerTruth } from '../../runtime/simulated/witness.ts';
import { drawn, drawnGrowth, type Growth, GROWTH_MS, type KeyedRandom } from './growth.ts';
import { type RunningTruth, runningUse, total } from './running-use.ts';

const MI = 2 ** 20;
/** What the node uses itself. */
const SYSTEM_BYTES = 128 * MI;
/** Of a sandbox without its containers. */
const SANDBOX_BYTES = MI;
/** What a container counts as if it requests nothing. */
const LEAST_BYTES = 64 * MI;
/** What containers use as they start, against what they request. */
const SHARES = [0.3, 0.6, 0.9, 0.9, 1.3, 2];
const LEAK = { growing: 0.2, maxPerMs: (2 * MI) / 1000 };

export interface MemorySize {
  readonly capacityBytes: number;
  /** What all pods together may use; undefined: all that there is. */
  readonly podsBytes: number | undefined;
}

export type MemorySignal = 'memory.available' | 'allocatableMemory.available';

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
  /** By UID, of those of which something runs. */
  readonly bytesOf: ReadonlyMap<string, number>;
}

export class SimulatedMemory {
  readonly #options: SimulatedMemoryOptions;

  constructor(options: SimulatedMemoryOptions) {
    this.#options = options;
  }

  /** Undefined where that much is not set. */
  capacityOf(signal: MemorySignal): number | undefined {
    const { capacityBytes, podsBytes } = this.#options;
    return signal === 'memory.available' ? capacityBytes : podsBytes;
  }

  /** As it is now, or will be then if nothing starts or ends before. */
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

  /** When less than that will be available, Unix ms, if nothing starts or ends before; undefined: never. */
  nextBelow(signal: MemorySignal, thresholdBytes: number): number | undefined {
    const isBelow = (atMs: number) => (this.at(atMs).left.get(signal) ?? Infinity) < thresholdBytes;
    let [early, late] = [this.#options.now(), this.#options.now() + GROWTH_MS];
    if (!isBelow(late)) return undefined;
    // Without ends it only grows.
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (isBelow(middle)) late = middle;
      else early = middle;
    }
    return late;
  }

  #growthOf({ uid, metadata: { name } }: ContainerTruth): Growth {
    const { random, requestOf } = this.#options;
    const key = `memory/${uid}/${name}`;
    const share = drawn(SHARES, random(key)) ?? 1;
    const atStart = share * Math.max(LEAST_BYTES, requestOf(uid, name));
    return drawnGrowth(random, key, { atStart, ...LEAK });
  }
}
