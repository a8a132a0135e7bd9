/** How often a node is measured for eviction. */
import type { EvictionState } from './pass.ts';
import type { MemorySignal } from './signals.ts';
import type { Threshold } from './thresholds.ts';

/** Everything is measured this long after the last pass that measured everything (the kubelet's period). */
export const MEASUREMENT_PERIOD_MS = 10_000;

/**
 * Memory comes and goes around a threshold: the watch has seen too little, and there is enough again when the node is measured. It
 * can be back a moment later, and the watch does not tell it twice. So memory is measured this many times more, at this distance.
 */
export const DOUBT_MEASUREMENTS_MAX = 8;
export const DOUBT_PERIOD_MS = 250;

/** Whether the threshold is about memory that is left: the memory watch tells when it is crossed. */
export function isMemoryThreshold(
  threshold: Threshold,
): threshold is Threshold & { readonly signal: MemorySignal } {
  return threshold.signal === 'memory.available' || threshold.signal === 'allocatableMemory.available';
}

/** Whether the figures show what the memory watch tells: a threshold of memory is met, its grace period over or not. */
export function showsMemoryShort({ firstObserved }: Pick<EvictionState, 'firstObserved'>): boolean {
  return firstObserved.some(({ threshold }) => isMemoryThreshold(threshold));
}
