/** Numbers as Go writes and reads them. */

/** From a million on, Go writes an exponent. */
const EXPONENT_FORM_FROM = 6;

/** A number as Go prints a float64 with `%v`: the shortest digits that read back as the same number. */
export function goFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits = '', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < EXPONENT_FORM_FROM) return value.toString();
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
/** The number next to 2^63 that a check against int64 refuses. */
const BEYOND = 2 ** 63 + 2048;

/** Texts with numbers of which `asInt64` may have to look at the digits. */
export const MAY_EXCEED_INT64 = /922337203685477[56]/;

/**
 * The number that a text stands for. 2^63 stands for the largest int64 as well as for the numbers that are one too large: of those, the
 * answer is beyond what an int64 holds.
 */
export function asInt64(value: number, source: string | undefined): number {
  if (source === undefined || Math.abs(value) !== 2 ** 63) return value;
  const exact = exactly(source.replaceAll('_', ''));
  if (exact === undefined || (exact >= INT64_MIN && exact <= INT64_MAX)) return value;
  return Math.sign(value) * BEYOND;
}

/** Undefined for a text that is no whole number of JSON or YAML 1.1. */
function exactly(text: string): bigint | undefined {
  const [, sign = '', digits = ''] = /^([-+]?)(0x[0-9a-f]+|0b[01]+|0[0-7]+|\d+)$/i.exec(text) ?? [];
  if (digits === '') return undefined;
  const size = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  return sign === '-' ? -size : size;
}
