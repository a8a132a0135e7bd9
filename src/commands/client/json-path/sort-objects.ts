/** `--sort-by PATH`, as kubectl sorts: numbers and quantities by size, numbers in names by their value, what lacks the field first. */
import { invalid } from '../../../types/errors.ts';
import { compareQuantity, quantityIn } from '../../../agent/policies/formats/quantity.ts';
import { relaxedPath } from './custom-columns.ts';
import { valuesAt } from './json-path.ts';

/** Throws `InvalidArgument` where no object has the field. */
export function sortedBy<T>(objects: readonly T[], text: string): readonly T[] {
  const path = relaxedPath(text, '--sort-by');
  const keyed = objects.map((object) => ({ object, value: valuesAt(path, object)[0] }));
  if (keyed.length > 0 && keyed.every(({ value }) => value === undefined))
    throw invalid(`--sort-by: no object has a field ${text}`);
  return keyed.toSorted((a, b) => compare(a.value, b.value)).map(({ object }) => object);
}

function compare(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [first, second] = [a, b].map((value) =>
    typeof value === 'string' ? value : JSON.stringify(value),
  ) as [string, string];
  const [one, other] = [quantityIn(first), quantityIn(second)];
  return one && other ? compareQuantity(one, other) : compareNaturally(first, second);
}

/** `web-2` comes before `web-10`. */
function compareNaturally(first: string, second: string): number {
  const others = second.split(/(\d+)/u);
  for (const [index, part] of first.split(/(\d+)/u).entries()) {
    const other = others[index] ?? '';
    const difference = index % 2 === 1 ? Number(part) - Number(other) : 0;
    if (difference !== 0) return difference;
    if (part !== other) return part < other ? -1 : 1;
  }
  return first.length - second.length;
}
