/** The figures of a simulated node, as one agent gets them. */
import type { EvictionStats } from '../actors/eviction-figures.ts';
import type { Clock, TimerHandle } from '../types/clock.ts';
import { StateletError } from '../types/errors.ts';
import type { PodStats, Summary } from '../types/stats.ts';
import type { MemoryUse, SimulatedMemory } from './simulated-memory.ts';

/** Probabilities, from 0 to 1, of what may go wrong when a node is measured. */
export interface StatsFaults {
  readonly fail: number;
  readonly slow: number;
}

/** Measured, then answered: each takes so long. */
const MAX_HALF_MS = 4;
const SLOWNESS = 500;
/** A crossing is told of within this. */
const MAX_NOTICE_MS = 250;

export interface SimulatedStatsOptions {
  readonly memory: SimulatedMemory;
  /** The agent's: nothing is answered once it is dead. */
  readonly clock: Clock;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly faults: () => StatsFaults;
  readonly nameOf: (uid: string) => string | undefined;
  /** The node is to be measured; returns what is to be called with what the agent is told. */
  readonly onMeasure: () => (use: MemoryUse, isWhole: boolean) => void;
}

type Watcher = Parameters<EvictionStats['watchMemory']>;

export class SimulatedStats implements EvictionStats {
  readonly #options: SimulatedStatsOptions;
  readonly #watches = new Set<SimulatedWatch>();
  #asked = 0;

  constructor(options: SimulatedStatsOptions) {
    this.#options = options;
  }

  async summary({ onlyNode = false } = {}): Promise<Summary> {
    const { memory, random, faults, onMeasure } = this.#options;
    const told = onMeasure();
    const key = `summary/${String(++this.#asked)}`;
    const isSlow = random(`${key}/slow`) < faults().slow;
    const halfMs = 1 + MAX_HALF_MS * random(key) * (isSlow ? SLOWNESS : 1);
    await this.#passes(halfMs);
    const use = memory.at();
    await this.#passes(halfMs);
    if (random(`${key}/fail`) < faults().fail)
      throw new StateletError('Unavailable', 'the figures of the node cannot be read');
    told(use, !onlyNode);
    return this.#summaryOf(use, onlyNode);
  }

  diskLayout(): ReturnType<EvictionStats['diskLayout']> {
    return Promise.resolve({ dedicatedImageFs: false, dedicatedContainerFs: false });
  }

  memoryAvailable(): ReturnType<EvictionStats['memoryAvailable']> {
    return { capacityBytes: this.#options.memory.capacityBytes };
  }

  watchMemory(...watcher: Watcher): { stop(): void } {
    const watch = new SimulatedWatch(this.#options, watcher);
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

  #passes(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.setTimeout(resolve, delayMs));
  }

  #summaryOf({ atMs, availableBytes, bytesOf }: MemoryUse, onlyNode: boolean): Summary {
    const { memory, nameOf } = this.#options;
    const time = new Date(atMs).toISOString();
    const workingSetBytes = memory.capacityBytes - availableBytes;
    const node = { nodeName: 'node', memory: { time, availableBytes, workingSetBytes } };
    const pods = Array.from(bytesOf, ([uid, bytes]): PodStats => {
      const podRef = { name: nameOf(uid) ?? uid, namespace: 'default', uid };
      return { podRef, memory: { time, workingSetBytes: bytes } };
    });
    return { node, pods: onlyNode ? [] : pods };
  }
}

/** Looks when something has started or ended, and when what leaks will have used up what is left: never without a reason. */
class SimulatedWatch {
  readonly #options: SimulatedStatsOptions;
  readonly #watcher: Watcher;
  readonly #below = new Set<Watcher[0][number]>();
  readonly #unsubscribe: () => void;
  #timer: TimerHandle | undefined;
  #looks = 0;

  constructor(options: SimulatedStatsOptions, watcher: Watcher) {
    this.#options = options;
    this.#watcher = watcher;
    this.#unsubscribe = options.memory.onChange(() => this.#arm(0));
    this.#arm(0);
  }

  stop(): void {
    this.#unsubscribe();
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
  }

  #arm(delayMs: number): void {
    const { clock, random } = this.#options;
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer);
    const noticeMs = MAX_NOTICE_MS * random(`watch/${String(++this.#looks)}`);
    this.#timer = clock.setTimeout(() => this.#look(), delayMs + noticeMs);
  }

  #look(): void {
    const { memory, clock } = this.#options;
    const [thresholds, onCrossed] = this.#watcher;
    const { availableBytes } = memory.at();
    const nexts: number[] = [];
    for (const threshold of thresholds) {
      const isBelow = availableBytes < threshold.thresholdBytes;
      const next = isBelow ? undefined : memory.nextBelow(threshold.thresholdBytes);
      if (next !== undefined) nexts.push(next);
      if (isBelow === this.#below.has(threshold)) continue;
      if (isBelow) this.#below.add(threshold);
      else this.#below.delete(threshold);
      onCrossed({ isBelow });
    }
    if (nexts.length > 0) this.#arm(Math.min(...nexts) - clock.now());
  }
}
