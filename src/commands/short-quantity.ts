/** Sizes as people read them: `18.3Gi` for `19288964Ki`. `-o json` has them exactly. */
import { parseQuantity, quantityValue } from '../policies/formats/quantity.ts';

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const STEP = 1024n;

/** A quantity of bytes, or a threshold of one (`<100Mi`). */
export function shortQuantity(text: string): string {
  const [, sign = '', quantity = ''] = /^([<>]?)(.*)$/u.exec(text) ?? [];
  return sign + shortBytes(quantityValue(parseQuantity(quantity)));
}

/** With one digit after the point at most, and never rounded up: what is below a threshold is shown as below it. */
export function shortBytes(bytes: bigint): string {
  let [unit, size] = [0, 1n];
  while (unit < UNITS.length - 1 && bytes >= size * STEP) [unit, size] = [unit + 1, size * STEP];
  const tenths = (bytes * 10n) / size;
  const rest = tenths % 10n;
  return `${tenths / 10n}${rest === 0n ? '' : `.${rest}`}${UNITS[unit] ?? ''}`;
}
