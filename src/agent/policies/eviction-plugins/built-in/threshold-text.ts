/** Amounts of settings: a quantity (`10Gi`), or a part of the whole (`10%`). */
import { quantityIn, quantityValue } from '../../formats/quantity.ts';

const PERCENT = /^(\d+(?:\.\d+)?)%$/u;

/** For an invalid amount: the end of the sentence "must be …". An empty one is not compared. */
export function thresholdTextProblem(text: string): string | undefined {
  const isValid = text === '' || isBetween(percentOf(text), 100) || isBetween(quantityOf(text), Infinity);
  return isValid ? undefined : 'a quantity such as 10Gi of more than 0, or a percentage such as 10%';
}

/** Undefined where nothing is compared, or where the whole is not known. */
export function thresholdAmount(text: string, whole: number | undefined): number | undefined {
  const percent = percentOf(text);
  if (percent === undefined) return quantityOf(text);
  return whole === undefined ? undefined : (percent * whole) / 100;
}

function percentOf(text: string): number | undefined {
  const [, digits] = PERCENT.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function quantityOf(text: string): number | undefined {
  const quantity = quantityIn(text);
  return quantity && Number(quantityValue(quantity));
}

function isBetween(value: number | undefined, most: number): boolean {
  return value !== undefined && value > 0 && value <= most;
}
