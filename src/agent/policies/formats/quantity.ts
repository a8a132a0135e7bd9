/**
 * Kubernetes quantities (`100m`, `1.5Gi`, `129e6`), exact. The smallest unit in Kubernetes is 1n. So a quantity is a whole
 * number of billionths, with the format in which it is written.
 */
import { invalid } from '../../../types/errors.ts';

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  /** The amount in billionths. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;
  /** How it was written, if the kubelet prints it like that again although this may not be canonical (`+1`, `1e03`). */
  readonly spelling?: string;
}

export const ZERO_QUANTITY: Quantity = { nanos: 0n, format: 'DecimalSI' };

const NANO_EXPONENT = -9;
const NANOS = 10n ** 9n;
const NANOS_PER_MILLI = 10n ** 6n;
const BINARY_MAX_NANOS = (2n ** 63n - 1n) * NANOS;
/** A number holds this many decimal digits exactly. */
const EXACT_DIGITS = 15;
/** Larger exponents are refused: 10^999 is more than enough, and a number with 10^9 digits would take all memory. */
const MAX_EXPONENT = 999;

const DECIMAL_UNITS = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
/** The first of these is only written: a number without a unit is read as decimal. */
const BINARY_UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const MALFORMED =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const UNKNOWN_SUFFIX = "unable to parse quantity's suffix";
const NOT_NUMERIC = 'unable to parse numeric part of quantity';
/** Sign, whole digits, fraction, suffix. Each digit can match in one place only, so that every text takes linear time. */
const SHAPE = /^([+-]?)([0-9]*)(?![0-9])(?:\.([0-9]*)(?![0-9]))?([eEinumkKMGTP]*[+-]?[0-9]*)$/;

/** A number as written: `whole.fraction` times the unit, `whole` without leading zeros. */
interface Parts {
  readonly negative: boolean;
  readonly whole: string;
  readonly fraction: string;
  readonly unit: Unit;
}

/** 10^`exponent` × 2^`shift`. */
interface Unit {
  readonly format: QuantityFormat;
  readonly exponent: number;
  readonly shift: number;
  /** The unit in billionths; only for units with a letter, not for exponents (`e3`). */
  readonly nanos?: bigint;
}

const UNITS: ReadonlyMap<string, Unit> = new Map<string, Unit>([
  ...BINARY_UNITS.map((unit, i): [string, Unit] => [
    unit,
    { format: 'BinarySI', exponent: 0, shift: 10 * i, nanos: NANOS << BigInt(10 * i) },
  ]),
  ...DECIMAL_UNITS.map((unit, i): [string, Unit] => [
    unit,
    { format: 'DecimalSI', exponent: NANO_EXPONENT + 3 * i, shift: 0, nanos: 1000n ** BigInt(i) },
  ]),
]);

/** Pods of one template have the same texts, so most are found here. There is space for 10,000 pods that are all different. */
const CACHE_ENTRIES_MAX = 32_768;
const CACHED_LENGTH_MAX = 32;
const cache = new Map<string, Quantity>();

/** Undefined for a text that is no quantity. */
export function quantityIn(text: string): Quantity | undefined {
  try {
    return parseQuantity(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads a quantity as Kubernetes does, rounding away from zero to 1n. Throws a StateletError of kind InvalidArgument with
 * Kubernetes' message. As in Kubernetes, most units need no digit (`Ki` is 0). A number is read as the text that it prints as,
 * since manifests may leave out the quotes.
 */
export function parseQuantity(value: string | number): Quantity {
  const text = String(value);
  const known = cache.get(text);
  if (known) return known;
  const quantity = readQuantity(text);
  if (text.length <= CACHED_LENGTH_MAX) {
    if (cache.size >= CACHE_ENTRIES_MAX) cache.clear();
    cache.set(text, quantity);
  }
  return quantity;
}

function readQuantity(text: string): Quantity {
  const parts = splitQuantity(text);
  const magnitude = magnitudeOf(parts);
  const nanos = parts.negative ? -magnitude : magnitude;
  const { format } = parts.unit;
  if (keepsSpelling(parts)) return { nanos, format, spelling: text };
  const belowOne = magnitude > 0n && magnitude < NANOS;
  return { nanos, format: format === 'BinarySI' && belowOne ? 'DecimalSI' : format };
}

function splitQuantity(text: string): Parts {
  const [, sign, whole, fraction = '', suffix] = SHAPE.exec(text) ?? [];
  if (text === '' || whole === undefined || suffix === undefined) throw invalid(MALFORMED);
  const unit = UNITS.get(suffix) ?? exponentUnit(suffix);
  if (whole === '' && fraction === '' && needsDigits(unit)) throw invalid(NOT_NUMERIC);
  return {
    negative: sign === '-',
    whole: whole.startsWith('0') ? whole.replace(/^0+/, '') : whole,
    fraction,
    unit,
  };
}

/** Without a digit Kubernetes reads 0 (`Ki`), but not in units whose numbers may have no digit beside those of an int64, or are finer than 1n. */
function needsDigits(unit: Unit): boolean {
  return unit.format === 'BinarySI' ? binaryDigitsMax(unit) < 1 : unit.exponent < NANO_EXPONENT;
}

/** `e3`, `E-6`, … The `E` of `1E` is exa, and is found in `UNITS`. */
function exponentUnit(suffix: string): Unit {
  if (!/^[eE][+-]?[0-9]+$/.test(suffix)) throw invalid(UNKNOWN_SUFFIX);
  const exponent = Number(suffix.slice(1));
  if (Math.abs(exponent) > MAX_EXPONENT) throw invalid(UNKNOWN_SUFFIX);
  return { format: 'DecimalExponent', exponent, shift: 0 };
}

/** Billionths without the sign. A quantity in binary units is at most 2^63 - 1. */
function magnitudeOf({ whole, fraction, unit }: Parts): bigint {
  const nanos =
    unit.nanos !== undefined && fraction === ''
      ? wholeNumber(whole) * unit.nanos
      : scaled(BigInt(whole + fraction), unit, fraction.length);
  return unit.format === 'BinarySI' && nanos > BINARY_MAX_NANOS ? BINARY_MAX_NANOS : nanos;
}

/** Reading few digits as a number first is much faster. */
function wholeNumber(digits: string): bigint {
  return BigInt(digits.length <= EXACT_DIGITS ? Number(digits) : digits);
}

function scaled(digits: bigint, { exponent, shift }: Unit, fractionDigits: number): bigint {
  const power = exponent - fractionDigits - NANO_EXPONENT;
  const shifted = digits << BigInt(shift);
  return power >= 0 ? shifted * 10n ** BigInt(power) : divideUp(shifted, 10n ** BigInt(-power));
}

/**
 * The kubelet keeps the spelling of quantities that its fast path takes for canonical: they fit into an int64, and are either
 * a decimal whose last digit stands for 1000^n and whose digits do not end in 000, or a whole binary number that is no
 * multiple of 8.
 */
function keepsSpelling({ whole, fraction, unit }: Parts): boolean {
  if (unit.format === 'BinarySI') {
    return fraction === '' && whole.length <= binaryDigitsMax(unit) && Number(whole) % 8 !== 0;
  }
  const lastDigit = unit.exponent - fraction.length;
  const digits = whole + fraction;
  if (whole === '' || digits.length > 18 || digits.endsWith('000')) return false;
  return lastDigit >= NANO_EXPONENT && lastDigit % 3 === 0;
}

/** Numbers with this many digits fit into an int64 in any case: Ki 11, Mi 8, Gi 5, Ti 2. */
function binaryDigitsMax({ shift }: Unit): number {
  return 14 - Math.floor((shift * 3) / 10);
}

/** The sum, in the format of `a`; if `a` is zero, in that of `b`. */
/** Zero where there is no text. Throws what `parseQuantity` throws. */
export function quantityOrZero(text: string | undefined): Quantity {
  return text === undefined ? ZERO_QUANTITY : parseQuantity(text);
}

export function addQuantity(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: resultFormat(a, b) };
}

/** The difference, in the format of `a`; if `a` is zero, in that of `b`. */
export function subQuantity(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos - b.nanos, format: resultFormat(a, b) };
}

function resultFormat(a: Quantity, b: Quantity): QuantityFormat {
  return a.nanos === 0n ? b.format : a.format;
}

/** The larger one; of equal ones `a`. */
export function maxQuantity(a: Quantity, b: Quantity): Quantity {
  return b.nanos > a.nanos ? b : a;
}

/** -1, 0 or 1 if `a` is smaller than, equal to or larger than `b`. */
export function compareQuantity(a: Quantity, b: Quantity): -1 | 0 | 1 {
  if (a.nanos === b.nanos) return 0;
  return a.nanos < b.nanos ? -1 : 1;
}

/** In whole units (bytes, cores, …), rounded away from zero. May exceed 64 bits. */
export function quantityValue(q: Quantity): bigint {
  return divideUp(q.nanos, NANOS);
}

/** In thousandths, rounded away from zero. May exceed 64 bits. */
export function milliValue(q: Quantity): bigint {
  return divideUp(q.nanos, NANOS_PER_MILLI);
}

/** Rounded away from zero to thousandths: the API server keeps no finer amount of a resource. */
export function roundedToMilli(q: Quantity): Quantity {
  const nanos = milliValue(q) * NANOS_PER_MILLI;
  return nanos === q.nanos ? q : { nanos, format: q.format };
}

/** Rounds away from zero. */
function divideUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  if (quotient * divisor === dividend) return quotient;
  return dividend < 0n ? quotient - 1n : quotient + 1n;
}

/** As the kubelet prints it: the original spelling if that is kept, else the canonical form. */
export function quantityString(q: Quantity): string {
  return q.spelling ?? formatQuantity(q);
}

/**
 * The canonical form: the largest unit that leaves a whole number. A binary quantity that has a fraction, or is below
 * 1024, is written as a decimal. As in the kubelet, a unit above the last one (`E`, `Ei`) is lost: 1000E prints as 1.
 */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  if (format === 'BinarySI') {
    const whole = nanos / NANOS;
    const tooSmall = whole > -1024n && whole < 1024n;
    if (!tooSmall && whole * NANOS === nanos) return formatBinary(whole);
  }
  const [mantissa, thousands] = takeFactors(nanos, 1000n);
  if (format !== 'DecimalExponent') return `${mantissa}${DECIMAL_UNITS[thousands] ?? ''}`;
  const exponent = NANO_EXPONENT + 3 * thousands;
  return exponent === 0 ? mantissa.toString() : `${mantissa}e${exponent}`;
}

function formatBinary(whole: bigint): string {
  const [mantissa, power] = takeFactors(whole, 1024n);
  return `${mantissa}${BINARY_UNITS[power] ?? ''}`;
}

/** `value` without its factors `base`, and how many there were. */
function takeFactors(value: bigint, base: bigint): [bigint, number] {
  let power = 0;
  for (; value % base === 0n; power += 1) value /= base;
  return [value, power];
}
