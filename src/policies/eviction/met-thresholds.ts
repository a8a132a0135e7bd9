/** Which thresholds are met, since when, and by what that is new. A threshold is known again by being the same object. */
import type { Observation, Observations } from './observations.ts';
import { isPressureSignal, starvedResource } from './signals.ts';
import { type Threshold, thresholdQuantity, type ThresholdValue } from './thresholds.ts';
import { addQuantity, compareQuantity, type Quantity } from '../formats/quantity.ts';

export interface ObservedThreshold {
  readonly threshold: Threshold;
  /** When it was met first and has been since. */
  readonly sinceMs: number;
}

/** Whatever their grace periods. `minReclaim`: met until that is available on top. What is not observed is not met. */
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

/** `a`, and of `b` what says something else; what they want reclaimed makes no difference. */
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

/** One that is not met any more begins anew the next time. */
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

/** Those whose signal has been measured since; what does not say when it was measured counts as new. */
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

/** An average over ten seconds: after three times that, 5% of what was before is left in it. */
const PRESSURE_SETTLES_MS = 30_000;

/** Without those on pressure as long as that still tells of the time before the last evicted pod ended. */
export function settledThresholds(
  thresholds: readonly Threshold[],
  lastEndMs: number | undefined,
  nowMs: number,
): readonly Threshold[] {
  if (lastEndMs === undefined || nowMs - lastEndMs >= PRESSURE_SETTLES_MS) return thresholds;
  return thresholds.filter(({ signal }) => !isPressureSignal(signal));
}

/**
 * The kubelet's order: memory before all others, of several thresholds of memory the last one first, and at the end those that
 * no resource stands behind, they too turned round.
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
