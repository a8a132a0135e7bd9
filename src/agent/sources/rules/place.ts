/** Walks a parsed manifest. Values of a wrong type are skipped: the schema validation reports them. */
import type { ManifestProblem } from '../source.ts';

export type Tree = Readonly<Record<string, unknown>>;

/** A mapping inside the manifest, and the path of its field. */
export interface Place {
  readonly path: string;
  readonly value: Tree;
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `spec.containers[0].image`, `metadata.labels[example.com/app]`. */
export function fieldPath(names: readonly string[]): string {
  return names
    .map((name) => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${name}]`))
    .join('')
    .replace(/^\./, '');
}

export function pathOf({ path }: Place, field: string): string {
  const member = fieldPath([field]);
  return path === '' || member.startsWith('[') ? `${path}${member}` : `${path}.${member}`;
}

export function problemAt(place: Place, field: string, message: string): ManifestProblem {
  return { field: pathOf(place, field), message };
}

/** The mapping in `field`: a list of one, or empty. */
export function child(place: Place, field: string): Place[] {
  const value = place.value[field];
  return isTree(value) ? [{ path: pathOf(place, field), value }] : [];
}

/** The mappings in the list in `field`. */
export function items(place: Place, field: string): Place[] {
  const value = place.value[field];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index) =>
    isTree(item) ? [{ path: `${pathOf(place, field)}[${index}]`, value: item }] : [],
  );
}

export function text(place: Place, field: string): string | undefined {
  const value = place.value[field];
  return typeof value === 'string' ? value : undefined;
}

/** One problem for each place whose key an earlier place has. Undefined keys are not compared. */
export function* repeated(
  places: readonly Place[],
  field: string,
  keyOf: (place: Place) => string | undefined = (place) => text(place, field),
): Iterable<ManifestProblem> {
  const first = new Map<string, Place>();
  for (const place of places) {
    const key = keyOf(place);
    const before = key === undefined ? undefined : first.get(key);
    if (before) yield problemAt(place, field, `is already used by ${before.path}`);
    else if (key !== undefined) first.set(key, place);
  }
}

/** A problem unless exactly one of the fields is set. With `orNone`, none is allowed too. */
export function* oneOf(
  place: Place,
  fields: readonly string[],
  { orNone = false }: { orNone?: boolean } = {},
): Iterable<ManifestProblem> {
  const set = fields.filter((field) => place.value[field] !== undefined && place.value[field] !== '');
  if (set.length > 1) yield { field: place.path, message: `may have only one of ${set.join(', ')}` };
  if (set.length === 0 && !orNone)
    yield { field: place.path, message: `must have one of ${fields.join(', ')}` };
}
