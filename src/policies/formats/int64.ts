/** Whole numbers as Kubernetes reads them, beyond what a JavaScript number holds exactly. */

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
