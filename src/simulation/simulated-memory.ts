/** What the pods of a simulated node use of its memory: it follows from what really runs, and for how long it has. */
import type { ContainerTruth } from '../runtime/simulated/witness.ts';
import type { RuntimeTruth } from './judge.ts';

const MI = 2 ** 20;
/** What the node uses itself. */
const SYSTEM_BYTES = 128 * MI;
/** Of a sandbox without its containers. */
const SANDBOX_BYTES = MI;
/** What a container counts as if it requests nothing. */
const LEAST_BYTES = 64 * MI;
/** What containers use as they start, against what they request. */
const SHARES = [0.3, 0.6, 0.9, 0.9, 1.3, 2];
/** One in so many uses ever more, for so long. */
const LEAKING = 0.2;
const MAX_LEAK_BYTES_PER_MS = (2 * MI) / 1000;
const LEAK_MS = 5 * 60_000;

export interface SimulatedMemoryOptions {
  readonly capacityBytes: number;
  readonly now: () => number;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly runtime: Pick<RuntimeTruth, 'sandboxesOf'> & { uids(): readonly string[] };
  /** What the container requests, in bytes. */
  readonly requestOf: (uid: string, container: string) => number;
}

/** At one moment. */
export interface MemoryUse {
  readonly atMs: number;
  readonly availableBytes: number;
  /** By UID, of those of which something runs. */
  readonly bytesOf: ReadonlyMap<string, number>;
}

export class SimulatedMemory {
  readonly #options: SimulatedMemoryOptions;
  readonly #listeners = new Set<() => void>();

  constructor(options: SimulatedMemoryOptions) {
    this.#options = options;
  }

  get capacityBytes(): number {
    return this.#options.capacityBytes;
  }

  /** As it is now, or will be then if nothing starts or ends before. */
  at(atMs = this.#options.now()): MemoryUse {
    const { runtime, capacityBytes } = this.#options;
    const bytesOf = new Map<string, number>();
    for (const uid of runtime.uids()) {
      const bytes = this.#bytesOf(uid, atMs);
      if (bytes > 0) bytesOf.set(uid, bytes);
    }
    const used = [...bytesOf.values()].reduce((sum, bytes) => sum + bytes, SYSTEM_BYTES);
    return { atMs, availableBytes: Math.max(0, capacityBytes - used), bytesOf };
  }

  /** When less than that will be available, Unix ms, if nothing starts or ends before; undefined: never. */
  nextBelow(thresholdBytes: number): number | undefined {
    const isBelow = (atMs: number) => this.at(atMs).availableBytes < thresholdBytes;
    let [early, late] = [this.#options.now(), this.#options.now() + LEAK_MS];
    if (!isBelow(late)) return undefined;
    // Without ends it only grows.
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (isBelow(middle)) late = middle;
      else early = middle;
    }
    return late;
  }

  /** Something has started or ended. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #bytesOf(uid: string, atMs: number): number {
    let sum = 0;
    for (const { ready, containers } of this.#options.runtime.sandboxesOf(uid)) {
      if (ready) sum += SANDBOX_BYTES;
      for (const container of containers)
        if (container.state === 'CONTAINER_RUNNING') sum += this.#ofContainer(container, atMs);
    }
    return sum;
  }

  /** Every instance of a container does the same. */
  #ofContainer({ uid, metadata: { name }, startedAt }: ContainerTruth, atMs: number): number {
    const { random, requestOf } = this.#options;
    const key = `memory/${uid}/${name}`;
    const share = SHARES[Math.floor(SHARES.length * random(key))] ?? 1;
    const atStart = share * Math.max(LEAST_BYTES, requestOf(uid, name));
    if (random(`${key}/leaks`) >= LEAKING) return Math.round(atStart);
    const bytesPerMs = MAX_LEAK_BYTES_PER_MS * random(`${key}/leak`);
    return Math.round(atStart + bytesPerMs * Math.min(LEAK_MS, atMs - startedAt));
  }
}
