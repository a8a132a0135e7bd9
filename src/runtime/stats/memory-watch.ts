import { farDistanceBytes, memoryWatchPeriodMs } from '../../policies/eviction/memory-watch-period.ts';
import type { Clock, TimerHandle } from '../../types/clock.ts';
import type { MemoryAvailable } from './memory-gauge.ts';

export type MemorySignal = 'memory.available' | 'allocatableMemory.available';

export interface MemoryThreshold {
  readonly signal: MemorySignal;
  /** Less than that is pressure. */
  readonly thresholdBytes: number;
}

export interface MemoryCrossing extends MemoryThreshold, MemoryAvailable {
  /** Whether there is pressure from now on, or is none any more. */
  readonly isBelow: boolean;
}

export interface MemoryWatchOptions {
  readonly thresholds: readonly MemoryThreshold[];
  /** May tell less than is left, where that is more than `enoughBytes`. */
  readonly available: (signal: MemorySignal, enoughBytes: number) => MemoryAvailable | undefined;
  readonly cpus: number;
  readonly clock: Clock;
  readonly onCrossed: (crossing: MemoryCrossing) => void;
}

/**
 * Tells when thresholds of memory are crossed, either way; what is below one at the beginning has crossed it. The kernel's
 * own notifications are out of Node's reach: neither the eventfd of cgroup v1 nor the priority events by which a PSI
 * trigger speaks can be waited for. So it looks, and how often follows from how near a threshold is.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  readonly #below = new Set<MemoryThreshold>();
  readonly #before = new Map<MemorySignal, { readonly availableBytes: number; readonly atMs: number }>();
  #timer: TimerHandle | undefined;
  #stopped = false;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#look();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
  }

  #look(): void {
    const { thresholds, cpus, clock } = this.#options;
    const readings = new Map(thresholds.map(({ signal }) => [signal, this.#read(signal)]));
    const seen = thresholds.flatMap((threshold) => {
      const reading = readings.get(threshold.signal);
      return reading ? [{ threshold, ...reading, ...threshold }] : [];
    });
    this.#timer = clock.setTimeout(() => this.#look(), memoryWatchPeriodMs(seen, cpus));
    for (const { threshold, availableBytes, capacityBytes } of seen) {
      this.#judge(threshold, { availableBytes, capacityBytes });
    }
  }

  #read(signal: MemorySignal): (MemoryAvailable & { readonly fallBytesPerMs: number }) | undefined {
    const { thresholds, cpus, available } = this.#options;
    const highest = Math.max(...thresholds.map(({ thresholdBytes }) => thresholdBytes));
    const reading = available(signal, highest + farDistanceBytes(cpus));
    if (reading === undefined) return undefined;
    const now = { availableBytes: reading.availableBytes, atMs: this.#options.clock.now() };
    const before = this.#before.get(signal) ?? now;
    this.#before.set(signal, now);
    const elapsedMs = Math.max(1, now.atMs - before.atMs);
    return { ...reading, fallBytesPerMs: (before.availableBytes - now.availableBytes) / elapsedMs };
  }

  #judge(threshold: MemoryThreshold, reading: MemoryAvailable): void {
    const isBelow = reading.availableBytes < threshold.thresholdBytes;
    if (this.#stopped || isBelow === this.#below.has(threshold)) return;
    if (isBelow) this.#below.add(threshold);
    else this.#below.delete(threshold);
    this.#options.onCrossed({ ...threshold, ...reading, isBelow });
  }
}
