/** Tells an agent on a simulated node when its memory crosses a threshold. */
import type { EvictionStats } from '../../agent/actors/eviction/eviction-figures.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { SimulatedResources } from './simulated-resources.ts';

/** A crossing is reported within this time. */
const MAX_NOTICE_MS = 250;

export type Watcher = Parameters<EvictionStats['watchMemory']>;

export interface SimulatedWatchOptions {
  readonly resources: SimulatedResources;
  readonly clock: Clock;
  /** In [0, 1); the same for the same key. */
  readonly random: (key: string) => number;
}

/** Checks memory when something has started or ended, and when leaks will have used up what is left. It does not poll. */
export class SimulatedWatch {
  readonly #options: SimulatedWatchOptions;
  readonly #watcher: Watcher;
  readonly #below = new Set<Watcher[0][number]>();
  readonly #unsubscribe: () => void;
  readonly #timer: Timer;
  #checks = 0;

  constructor(options: SimulatedWatchOptions, watcher: Watcher) {
    this.#options = options;
    this.#watcher = watcher;
    this.#timer = new Timer(options.clock);
    this.#unsubscribe = options.resources.onChange(() => this.#arm(0));
    this.#arm(0);
  }

  stop(): void {
    this.#unsubscribe();
    this.#timer.disarm();
  }

  #arm(delayMs: number): void {
    const noticeMs = MAX_NOTICE_MS * this.#options.random(`watch/${String(++this.#checks)}`);
    this.#timer.arm(delayMs + noticeMs, () => this.#check());
  }

  #check(): void {
    const { resources, clock } = this.#options;
    const { memory } = resources;
    const [thresholds, onCrossed] = this.#watcher;
    if (memory === undefined) return;
    const { left } = memory.at();
    const nexts: number[] = [];
    for (const threshold of thresholds) {
      const { signal, thresholdBytes } = threshold;
      const isBelow = (left.get(signal) ?? Infinity) < thresholdBytes;
      const next = isBelow ? undefined : memory.nextBelow(signal, thresholdBytes);
      if (next !== undefined) nexts.push(next);
      if (isBelow === this.#below.has(threshold)) continue;
      if (isBelow) this.#below.add(threshold);
      else this.#below.delete(threshold);
      onCrossed({ isBelow });
    }
    if (nexts.length > 0) this.#arm(Math.min(...nexts) - clock.now());
  }
}
