/** Hard eviction thresholds: below how much that is left of something pods are to be evicted. */
import { StateletError } from '../types/errors.ts';
import { parseQuantity, type Quantity, quantityString, quantityValue } from './quantity.ts';

const SIGNALS: ReadonlySet<string> = new Set([
  ...['memory.available', 'allocatableMemory.available', 'pid.available'],
  ...['nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree'],
  ...['containerfs.available', 'containerfs.inodesFree'],
]);

export const DEFAULT_EVICTION_HARD: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** An amount, or a share of the whole from 0 to 1. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly percentage: number };

/** Values by signal; 0% and 100% are none. Throws a StateletError of kind InvalidArgument that has the kubelet's message. */
export function hardThresholds(
  evictionHard: Readonly<Record<string, string>>,
): ReadonlyMap<string, ThresholdValue> {
  const thresholds = new Map<string, ThresholdValue>();
  for (const [signal, text] of Object.entries(evictionHard)) {
    if (!SIGNALS.has(signal)) throw invalid(`unsupported eviction signal ${signal}`);
    if (text === '0%' || text === '100%') continue;
    thresholds.set(signal, text.endsWith('%') ? percentageOf(signal, text) : quantityOf(signal, text));
  }
  return thresholds;
}

/** How much of `capacity` the threshold is. */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if ('quantity' in value) return value.quantity;
  const whole = Math.trunc(Number(quantityValue(capacity)) * value.percentage);
  return { nanos: BigInt(whole) * 10n ** 9n, format: 'BinarySI' };
}

function quantityOf(signal: string, text: string): ThresholdValue {
  const quantity = parseQuantity(text);
  if (quantity.nanos > 0n) return { quantity };
  throw invalid(`eviction threshold ${signal} must be positive: ${quantityString(quantity)}`);
}

/** In single precision, as the kubelet has it: 10% is a little more than a tenth. */
function percentageOf(signal: string, text: string): ThresholdValue {
  const digits = text.slice(0, -1);
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(digits))
    throw invalid(`eviction percentage threshold ${signal} must be a number: ${text}`);
  const percentage = Math.fround(Math.fround(Number(digits)) / 100);
  if (percentage < 0) throw invalid(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
  if (percentage > 1) throw invalid(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
  return { percentage };
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', message);
}
