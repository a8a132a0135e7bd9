/** How often a node is measured for eviction. */
import type { EvictionState } from './pass.ts';
import type { MemorySignal } from './signals.ts';
import type { Threshold } from './thresholds.ts';

/** Everything is measured this long after the last pass that measured everything (the kubelet's period). */
export const MEASUREMENT_PERIOD_MS = 10_000;

/**
 * A shortage that the memory watch reports may be over when the node is measured, and come back a moment later without a second report.
 * So after such a report memory is measured this many times more, at this interval.
 */
export const DOUBT_MEASUREMENTS_MAX = 8;
export const DOUBT_PERIOD_MS = 250;

/** Whether the threshold is about memory that is left: the memory watch reports when it is crossed. */
export function isMemoryThreshold(
  threshold: Threshold,
): threshold is Threshold & { readonly signal: MemorySignal } {
  return threshold.signal === 'memory.available' || threshold.signal === 'allocatableMemory.available';
}

/** Whether the figures confirm a report of the memory watch: a threshold of memory is met, its grace period over or not. */
export function showsMemoryShort({ firstObserved }: Pick<EvictionState, 'firstObserved'>): boolean {
  return firstObserved.some(({ threshold }) => isMemoryThreshold(threshold));
}

// How soon the memory that is left is read again. A reading costs about 0.2 ms, mostly for waking up: eight a second are less
// than 0.3% of a core. It is read more often only while memory is seen to be falling.

/** A process that writes to fresh pages gets about 1.6 GiB of them a second, and several times that in huge pages. */
const FASTEST_FALL_PER_CPU = 8 * 2 ** 30;

/** The most that the memory of one machine can take, however many CPUs write to it. */
const FASTEST_FALL = 256 * 2 ** 30;

const MS_PER_SECOND = 1000;

const FARTHEST_MS = 1000;

/** For a threshold that may be crossed at any moment, or has been crossed: its end has to be noticed too. */
const NEAR_MS = 125;

/** For a threshold that will be crossed soon if memory goes on falling like this. */
const CLOSEST_MS = 25;

export interface WatchedThreshold {
  readonly availableBytes: number;
  readonly thresholdBytes: number;
  /** By how much memory has fallen in each millisecond since the last reading; 0 or less if it has not fallen. */
  readonly fallBytesPerMs: number;
}

/** Memory that is farther from its threshold than this, and does not fall, is read as seldom as possible. */
export function farDistanceBytes(cpus: number): number {
  return fastestFallPerMs(cpus) * FARTHEST_MS;
}

function fastestFallPerMs(cpus: number): number {
  return Math.min(FASTEST_FALL, cpus * FASTEST_FALL_PER_CPU) / MS_PER_SECOND;
}

/** However fast memory falls, a crossing is noticed at most `NEAR_MS` after it happened. */
export function memoryWatchPeriodMs(thresholds: readonly WatchedThreshold[], cpus: number): number {
  const fastest = fastestFallPerMs(cpus);
  return Math.min(FARTHEST_MS, ...thresholds.map((threshold) => periodMs(threshold, fastest)));
}

function periodMs(
  { availableBytes, thresholdBytes, fallBytesPerMs }: WatchedThreshold,
  fastestPerMs: number,
): number {
  const distance = availableBytes - thresholdBytes;
  if (distance < 0) return NEAR_MS;
  const safeMs = Math.max(NEAR_MS, Math.floor(distance / fastestPerMs));
  if (fallBytesPerMs <= 0) return safeMs;
  // Half of the time that is left: memory may fall faster yet.
  return Math.min(safeMs, Math.max(CLOSEST_MS, Math.floor(distance / fallBytesPerMs / 2)));
}
