/** Which thresholds are met, since when, and by new figures or old ones. A threshold is recognised as the same object. */
import type { Observation, Observations } from './observations.ts';
import { isPressureSignal, starvedResource } from './signals.ts';
import { type Threshold, thresholdQuantity, type ThresholdValue } from './thresholds.ts';
import { addQuantity, compareQuantity, type Quantity } from '../formats/quantity.ts';

export interface ObservedThreshold {
  readonly threshold: Threshold;
  /** Since when it has been met without a break. */
  readonly sinceMs: number;
}

/**
 * The thresholds that are met, whatever their grace periods. With `minReclaim` a threshold is met until the minimum reclaim is
 * available too. A signal that is not observed meets no threshold.
 */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  { minReclaim }: { readonly minReclaim: boolean },
): readonly Threshold[] {
  return thresholds.filter((threshold) => {
    const observed = observations.get(threshold.signal);
    if (observed === undefined) return false;
    return compareQuantity(wantedQuantity(threshold, observed, minReclaim), observed.available) > 0;
  });
}

function wantedQuantity(
  { value, minReclaim }: Threshold,
  { capacity }: Observation,
  withMinReclaim: boolean,
): Quantity {
  const quantity = thresholdQuantity(value, capacity);
  if (!withMinReclaim || minReclaim === undefined) return quantity;
  return addQuantity(quantity, thresholdQuantity(minReclaim, capacity));
}

/** `a`, and those of `b` that differ from all of `a` in more than the minimum reclaim. */
export function mergeThresholds(a: readonly Threshold[], b: readonly Threshold[]): readonly Threshold[] {
  return b.reduce(
    (merged, threshold) =>
      merged.some((other) => isSameThreshold(other, threshold)) ? merged : [...merged, threshold],
    a,
  );
}

function isSameThreshold(a: Threshold, b: Threshold): boolean {
  return a.signal === b.signal && a.gracePeriodMs === b.gracePeriodMs && isSameValue(a.value, b.value);
}

function isSameValue(a: ThresholdValue, b: ThresholdValue): boolean {
  if ('quantity' in a) return 'quantity' in b && compareQuantity(a.quantity, b.quantity) === 0;
  return 'percentage' in b && a.percentage === b.percentage;
}

/** The time of a threshold that is not met any more is forgotten. */
export function thresholdsFirstObserved(
  met: readonly Threshold[],
  last: readonly ObservedThreshold[],
  nowMs: number,
): readonly ObservedThreshold[] {
  return met.map((threshold) => ({
    threshold,
    sinceMs: last.find((observed) => observed.threshold === threshold)?.sinceMs ?? nowMs,
  }));
}

export function thresholdsMetGracePeriod(
  observed: readonly ObservedThreshold[],
  nowMs: number,
): readonly Threshold[] {
  return observed
    .filter(({ threshold, sinceMs }) => nowMs - sinceMs >= threshold.gracePeriodMs)
    .map(({ threshold }) => threshold);
}

/** Those whose signal was measured after `last`; figures without a time count as new. */
export function thresholdsUpdatedStats(
  thresholds: readonly Threshold[],
  observations: Observations,
  last: Observations,
): readonly Threshold[] {
  return thresholds.filter(({ signal }) => {
    const observed = observations.get(signal);
    if (observed === undefined) return false;
    const before = last.get(signal);
    if (before === undefined || observed.timeMs === undefined) return true;
    return observed.timeMs > (before.timeMs ?? -Infinity);
  });
}

/** The signals are averages over ten seconds: after three times that, 5% of the time before is left in them. */
const PRESSURE_SETTLES_MS = 30_000;

/** Without thresholds on pressure while their averages still tell of the time before the last evicted pod ended. */
export function settledThresholds(
  thresholds: readonly Threshold[],
  lastEndMs: number | undefined,
  nowMs: number,
): readonly Threshold[] {
  if (lastEndMs === undefined || nowMs - lastEndMs >= PRESSURE_SETTLES_MS) return thresholds;
  return thresholds.filter(({ signal }) => !isPressureSignal(signal));
}

/**
 * The kubelet's order: memory first, several thresholds of memory in reverse order; at the end those without a resource, also in reverse
 * order.
 */
export function byEvictionPriority(thresholds: readonly Threshold[]): readonly Threshold[] {
  const others = thresholds.filter((threshold) => !isOfMemory(threshold));
  return [
    ...thresholds.filter(isOfMemory).toReversed(),
    ...others.filter(({ signal }) => starvedResource(signal) !== undefined),
    ...others.filter(({ signal }) => starvedResource(signal) === undefined).toReversed(),
  ];
}

export function isOfMemory({ signal }: Threshold): boolean {
  return starvedResource(signal) === 'memory';
}
