/** Sets of fields, by which the server stores the managers of fields: as paths here, and as a tree in `fieldsV1`. */
import type { Draft } from '../context.ts';

/** The steps to a field, divided by a character that no name has. */
export type Path = string;
export type FieldSet = ReadonlySet<Path>;

export const ROOT: Path = '';
const BETWEEN = '\0';

/** `step`: `f:NAME` of a member, `k:KEYS` and `v:VALUE` of an item of a list. */
export function at(path: Path, step: string): Path {
  return path === ROOT ? step : path + BETWEEN + step;
}

export const stepsOf = (path: Path): string[] => (path === ROOT ? [] : path.split(BETWEEN));

export const union = (...sets: readonly FieldSet[]): FieldSet => new Set(sets.flatMap((set) => [...set]));
export const difference = (one: FieldSet, other: FieldSet): FieldSet =>
  filtered(one, (path) => !other.has(path));
export const intersection = (one: FieldSet, other: FieldSet): FieldSet =>
  filtered(one, (path) => other.has(path));
export const filtered = (set: FieldSet, isKept: (path: Path) => boolean): FieldSet =>
  new Set([...set].filter(isKept));

/** Whether something below the path is in the set. */
export function hasBelow(set: FieldSet, path: Path): boolean {
  const start = path + BETWEEN;
  return [...set].some((one) => one.startsWith(start));
}

/** The fields that are neither one of these nor below one. */
export function outside(set: FieldSet, fields: readonly Path[]): FieldSet {
  if (fields.length === 0) return set;
  const isInside = (path: Path) => fields.some((field) => path === field || path.startsWith(field + BETWEEN));
  return filtered(set, (path) => !isInside(path));
}

/** The fields that are one of these or below one. */
export function inside(set: FieldSet, fields: readonly Path[]): FieldSet {
  return difference(set, outside(set, fields));
}

const decodedSets = new WeakMap<object, FieldSet>();

export function decoded(fieldsV1: Draft): FieldSet {
  const known = decodedSets.get(fieldsV1);
  if (known !== undefined) return known;
  const set = new Set<Path>();
  const walk = (node: Draft, path: Path): void => {
    const steps = Object.keys(node);
    if (steps.length === 0 && path !== ROOT) set.add(path);
    for (const step of steps) {
      if (step === '.') set.add(path);
      else walk(node[step] as Draft, at(path, step));
    }
  };
  walk(fieldsV1, ROOT);
  decodedSets.set(fieldsV1, set);
  return set;
}

export function encoded(set: FieldSet): Draft {
  const root: Draft = {};
  for (const path of [...set].sort()) {
    let node = root;
    for (const step of stepsOf(path)) node = node[step] ??= {};
  }
  // A field that is in the set beside something below it is marked.
  for (const path of set) {
    let node = root;
    for (const step of stepsOf(path)) node = node[step];
    if (Object.keys(node).length > 0) node['.'] = {};
  }
  decodedSets.set(root, set);
  return root;
}

/** In the server's order: first the members of an object or a list, then the fields below each. */
export function inOrder(set: FieldSet): Path[] {
  const all: Path[] = [];
  const walk = (node: Draft, path: Path): void => {
    const steps = Object.keys(node)
      .filter((step) => step !== '.')
      .sort();
    const isIn = (step: string) => set.has(at(path, step));
    all.push(...steps.filter(isIn).map((step) => at(path, step)));
    for (const step of steps) walk(node[step] as Draft, at(path, step));
  };
  walk(encoded(set), ROOT);
  return all;
}

/** As a conflict names it: `.spec.containers[name="main"].image`. */
export function pathText(path: Path): string {
  return stepsOf(path)
    .map((step) => {
      const rest = step.slice(2);
      if (step.startsWith('f:')) return `.${rest}`;
      if (step.startsWith('v:')) return `[=${rest}]`;
      const keys = Object.entries(JSON.parse(rest) as Draft).map(
        ([key, value]) => `${key}=${JSON.stringify(value)}`,
      );
      return `[${keys.join(',')}]`;
    })
    .join('');
}
