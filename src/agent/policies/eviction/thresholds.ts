/**
 * Eviction thresholds: if less than this is left of a resource, pods are evicted. Errors are StateletErrors of kind InvalidArgument with
 * the kubelet's messages.
 */
import { invalid } from '../../../types/errors.ts';
import { parseDuration } from '../formats/duration.ts';
import { parseQuantity, type Quantity, quantityString, quantityValue } from '../formats/quantity.ts';
import { type EvictionSignal, isResourceSignal, type ResourceSignal } from './signals.ts';

export const DEFAULT_EVICTION_HARD: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** A value of `enforceNodeAllocatable`: all pods together may use what is allocatable. */
const ENFORCED_ON_PODS = 'pods';

/** An amount, or a share of the whole from 0 to 1. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly percentage: number };

/** Met while less than `value` is available. */
export interface Threshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  /** How long it has to be met before pods are evicted; 0 for a hard threshold. */
  readonly gracePeriodMs: number;
  /** Once met, it stays met until this much more than `value` is available. */
  readonly minReclaim?: ThresholdValue;
}

type Texts = Readonly<Record<string, string>>;

/** As in KubeletConfiguration, by signal. */
export interface ThresholdSettings {
  readonly evictionHard: Texts;
  readonly evictionSoft: Texts;
  readonly evictionSoftGracePeriod: Texts;
  readonly evictionMinimumReclaim: Texts;
  readonly enforceNodeAllocatable: readonly string[];
}

/** Hard ones first, then soft ones, each in the order of the settings. */
export function parseThresholds(settings: ThresholdSettings): readonly Threshold[] {
  const hard = thresholdValues(settings.evictionHard);
  const soft = thresholdValues(settings.evictionSoft);
  const periods = gracePeriods(settings.evictionSoftGracePeriod);
  const minReclaims = minimumReclaims(settings.evictionMinimumReclaim);
  const thresholds = [
    ...Array.from(hard, ([signal, value]) => ({ signal, value, gracePeriodMs: 0 })),
    ...Array.from(soft, ([signal, value]) => ({ signal, value, gracePeriodMs: periodOf(signal, periods) })),
  ].map((threshold) => ({ ...threshold, minReclaim: minReclaims.get(threshold.signal) }));
  const enforced = settings.enforceNodeAllocatable.includes(ENFORCED_ON_PODS);
  return enforced ? [...thresholds, ...allocatableThresholds(thresholds)] : thresholds;
}

export function isHardThreshold({ gracePeriodMs }: Threshold): boolean {
  return gracePeriodMs === 0;
}

/** How much of `capacity` the threshold is. */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if ('quantity' in value) return value.quantity;
  const whole = Math.trunc(Number(quantityValue(capacity)) * value.percentage);
  return { nanos: BigInt(whole) * 10n ** 9n, format: 'BinarySI' };
}

function periodOf(signal: ResourceSignal, periods: ReadonlyMap<ResourceSignal, number>): number {
  const period = periods.get(signal);
  if (period !== undefined) return period;
  throw invalid(`grace period must be specified for the soft eviction threshold ${signal}`);
}

/** The thresholds of the node's memory also hold for the memory of all pods together. */
function allocatableThresholds(thresholds: readonly Threshold[]): readonly Threshold[] {
  return thresholds
    .filter((threshold) => threshold.signal === 'memory.available' && isHardThreshold(threshold))
    .map((threshold) => ({ ...threshold, signal: 'allocatableMemory.available' }));
}

/** Values by signal; 0% and 100% set no threshold. */
export function thresholdValues(texts: Texts): ReadonlyMap<ResourceSignal, ThresholdValue> {
  const values = new Map<ResourceSignal, ThresholdValue>();
  for (const [name, text] of Object.entries(texts)) {
    const signal = signalNamed(name);
    if (text === '0%' || text === '100%') continue;
    values.set(signal, text.endsWith('%') ? percentageOf(signal, text) : quantityOf(signal, text));
  }
  return values;
}

/** Amounts by signal. */
export function minimumReclaims(texts: Texts): ReadonlyMap<ResourceSignal, ThresholdValue> {
  return new Map(
    Object.entries(texts).map(([name, text]) => [signalNamed(name), minimumReclaim(signalNamed(name), text)]),
  );
}

function minimumReclaim(signal: ResourceSignal, text: string): ThresholdValue {
  if (text.endsWith('%')) {
    const percentage = fractionOf(text);
    if (percentage === undefined)
      throw invalid(`eviction percentage minimum reclaim ${signal} must be a number: ${text}`);
    if (percentage > 0) return { percentage };
    throw invalid(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
  }
  const quantity = parseQuantity(text);
  if (quantity.nanos >= 0n) return { quantity };
  throw invalid(`negative eviction minimum reclaim specified for ${signal}`);
}

function signalNamed(name: string): ResourceSignal {
  if (isResourceSignal(name)) return name;
  throw invalid(`unsupported eviction signal ${name}`);
}

function quantityOf(signal: string, text: string): ThresholdValue {
  const quantity = parseQuantity(text);
  if (quantity.nanos > 0n) return { quantity };
  throw invalid(`eviction threshold ${signal} must be positive: ${quantityString(quantity)}`);
}

function percentageOf(signal: string, text: string): ThresholdValue {
  const percentage = fractionOf(text);
  if (percentage === undefined)
    throw invalid(`eviction percentage threshold ${signal} must be a number: ${text}`);
  if (percentage < 0) throw invalid(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
  if (percentage > 1) throw invalid(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
  return { percentage };
}

/** In single precision, as in the kubelet: 10% is a little more than a tenth. Undefined if it is no number. */
function fractionOf(text: string): number | undefined {
  const digits = text.slice(0, -1);
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(digits)) return undefined;
  const fraction = Math.fround(Math.fround(Number(digits)) / 100);
  return Number.isFinite(fraction) ? fraction : undefined;
}

/** How long thresholds have to be met before pods are evicted, in milliseconds by signal. */
export function gracePeriods(texts: Texts): ReadonlyMap<ResourceSignal, number> {
  return new Map(Object.entries(texts).map(([name, text]) => [signalNamed(name), gracePeriodMs(name, text)]));
}

export function gracePeriodMs(signal: string, text: string): number {
  const periodMs = parseDuration(text);
  if (periodMs === undefined)
    throw invalid(`eviction grace period of ${signal} must be a duration such as "1m30s": "${text}"`);
  if (periodMs < 0)
    throw invalid(`invalid eviction grace period specified: ${text}, must be a positive value`);
  return periodMs;
}
