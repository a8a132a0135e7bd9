/** The values of the eviction signals, from a summary of the node. */
import type { FsStats, MemoryStats, NodeStats, RlimitStats, Summary } from '../../../types/stats.ts';
import { addQuantity, compareQuantity, type Quantity, type QuantityFormat } from '../formats/quantity.ts';
import { unixMs } from '../formats/time.ts';
import { PRESSURE_SIGNALS, pressureSource, timeLeft, WHOLE_TIME } from './pressure-settings.ts';
import { type EvictionSignal, isPressureSignal, type PressureSignal, starvedResource } from './signals.ts';
import { type Threshold, thresholdQuantity, type ThresholdValue } from './thresholds.ts';

export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** When it was measured; undefined if that is not known. */
  readonly timeMs: number | undefined;
}

/** Signals whose figures are not complete are left out. */
export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/** The system container that stands for all pods together. */
const ALL_PODS = 'pods';

export function observe({ node }: Summary): Observations {
  const pods = node.systemContainers?.find(({ name }) => name === ALL_PODS);
  return new Map([
    ...memory('memory.available', node.memory),
    ...memory('allocatableMemory.available', pods?.memory),
    ...space('nodefs.available', node.fs),
    ...inodes('nodefs.inodesFree', node.fs),
    ...space('imagefs.available', node.runtime?.imageFs),
    ...inodes('imagefs.inodesFree', node.runtime?.imageFs),
    ...space('containerfs.available', node.runtime?.containerFs),
    ...inodes('containerfs.inodesFree', node.runtime?.containerFs),
    ...processes('pid.available', node.rlimit),
    ...PRESSURE_SIGNALS.flatMap((signal) => pressure(signal, node)),
  ]);
}

type Entry = [EvictionSignal, Observation];

function memory(signal: EvictionSignal, stats: MemoryStats | undefined): Entry[] {
  const { availableBytes, workingSetBytes, time } = stats ?? {};
  if (availableBytes === undefined || workingSetBytes === undefined) return [];
  const [available, used] = [BigInt(availableBytes), BigInt(workingSetBytes)];
  return [[signal, observation(available, available + used, 'BinarySI', time)]];
}

function space(signal: EvictionSignal, stats: FsStats | undefined): Entry[] {
  const { availableBytes, capacityBytes, time } = stats ?? {};
  if (availableBytes === undefined || capacityBytes === undefined) return [];
  return [[signal, observation(BigInt(availableBytes), BigInt(capacityBytes), 'BinarySI', time)]];
}

function inodes(signal: EvictionSignal, stats: FsStats | undefined): Entry[] {
  const { inodesFree, inodes: all, time } = stats ?? {};
  if (inodesFree === undefined || all === undefined) return [];
  return [[signal, observation(BigInt(inodesFree), BigInt(all), 'DecimalSI', time)]];
}

function processes(signal: EvictionSignal, stats: RlimitStats | undefined): Entry[] {
  const { maxpid, curproc, time } = stats ?? {};
  if (maxpid === undefined || curproc === undefined) return [];
  return [[signal, observation(BigInt(maxpid) - BigInt(curproc), BigInt(maxpid), 'DecimalSI', time)]];
}

function pressure(signal: PressureSignal, node: NodeStats): Entry[] {
  const { resource, kind } = pressureSource(signal);
  const { psi, time } = node[resource] ?? {};
  const waited = psi?.[kind]?.avg10;
  if (waited === undefined) return [];
  return [[signal, { available: timeLeft(waited), capacity: WHOLE_TIME, timeMs: timeMsOf(time) }]];
}

function observation(
  available: bigint,
  capacity: bigint,
  format: QuantityFormat,
  time: string | undefined,
): Observation {
  return {
    available: wholeQuantity(available, format),
    capacity: wholeQuantity(capacity, format),
    timeMs: timeMsOf(time),
  };
}

function timeMsOf(time: string | undefined): number | undefined {
  const timeMs = time === undefined ? NaN : unixMs(time);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

export function wholeQuantity(value: bigint, format: QuantityFormat): Quantity {
  return { nanos: value * 10n ** 9n, format };
}

// Which thresholds are met, since when, and by new figures or old ones. A threshold is recognised as the same object.

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

/** Without thresholds on pressure while their averages still include the time before the last evicted pod ended. */
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
