/** Values of known types: their fields, how two of them differ, and one merged into another, by the rules of server-side apply. */
import { equalJson } from '../../../../src/agent/policies/formats/canonical-json.ts';
import { at, type FieldSet, hasBelow, type Path, ROOT } from './field-sets.ts';
import { ANY, type FieldType, type Key } from './field-types.ts';

type Tree = Readonly<Record<string, unknown>>;

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isAtomic = (type: FieldType): boolean =>
  type.kind === 'list' ? type.keys === undefined : type.kind !== 'scalar' && type.atomic;

/** In values of no known type, lists are one value, and objects have members. */
function memberType(type: FieldType, name: string): FieldType {
  if (type.kind === 'object') return type.fields.get(name) ?? ANY;
  return type.kind === 'map' ? type.of : ANY;
}

const isNamed = (type: FieldType, name: string): boolean =>
  type.kind === 'object' && type.fields.get(name) !== undefined;

/** `k:{"name":"main"}`, `v:"text"`. */
function stepOf(keys: readonly Key[], item: unknown): string {
  if (keys.length === 0) return `v:${JSON.stringify(item)}`;
  const values = keys.flatMap(({ name, fallback }) => {
    const value = isTree(item) ? (item[name] ?? fallback) : fallback;
    return value === undefined ? [] : [[name, value] as const];
  });
  return `k:${JSON.stringify(Object.fromEntries(values.sort(([a], [b]) => (a < b ? -1 : 1))))}`;
}

interface Item {
  readonly step: string;
  readonly value: unknown;
}

function itemsOf(keys: readonly Key[], list: unknown): Item[] {
  return (Array.isArray(list) ? list : []).map((value: unknown) => ({ step: stepOf(keys, value), value }));
}

/** All fields that the value has. */
export function fieldsOf(value: unknown, type: FieldType): FieldSet {
  const set = new Set<Path>();
  const walk = (one: unknown, oneType: FieldType, path: Path): void => {
    if (isAtomic(oneType)) {
      set.add(path);
      return;
    }
    if (oneType.kind === 'list') {
      for (const { step, value: item } of itemsOf(oneType.keys ?? [], one)) {
        walk(item, oneType.of, at(path, step));
        set.add(at(path, step));
      }
    } else if (isTree(one)) {
      for (const [name, member] of Object.entries(one)) {
        const below = at(path, `f:${name}`);
        walk(member, memberType(oneType, name), below);
        const isEmpty = member === null || (isTree(member) && Object.keys(member).length === 0);
        if (isEmpty || !isNamed(oneType, name)) set.add(below);
      }
    } else if (oneType.kind === 'scalar') set.add(path);
  };
  walk(value, type, ROOT);
  return set;
}

export function compared(before: unknown, after: unknown, type: FieldType): Comparison {
  const [added, modified, removed] = [new Set<Path>(), new Set<Path>(), new Set<Path>()];
  const asLeaf = (one: unknown, other: unknown, path: Path): void => {
    if (one === undefined) added.add(path);
    else if (other === undefined) removed.add(path);
    else if (!equalJson(one, other)) modified.add(path);
  };
  const walk = (one: unknown, other: unknown, oneType: FieldType, path: Path): void => {
    const isList = oneType.kind === 'list' || Array.isArray(one) || Array.isArray(other);
    const hasMembers = (value: unknown) =>
      isList ? Array.isArray(value) && value.length > 0 : isTree(value) && Object.keys(value).length > 0;
    const isLeaf =
      isAtomic(oneType) || (isList && oneType.kind !== 'list') || !(hasMembers(one) || hasMembers(other));
    if (isLeaf) {
      asLeaf(one, other, path);
      return;
    }
    if (oneType.kind === 'list') {
      const [mine, theirs] = [one, other].map(
        (list) => new Map(itemsOf(oneType.keys ?? [], list).map(({ step, value }) => [step, value])),
      ) as [Map<string, unknown>, Map<string, unknown>];
      for (const step of new Set([...mine.keys(), ...theirs.keys()]))
        walk(mine.get(step), theirs.get(step), oneType.of, at(path, step));
    } else {
      const [mine, theirs] = [one, other].map((value) => (isTree(value) ? value : {})) as [Tree, Tree];
      for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)]))
        walk(mine[name], theirs[name], memberType(oneType, name), at(path, `f:${name}`));
    }
    if (one === undefined) added.add(path);
    else if (other === undefined) removed.add(path);
  };
  walk(before, after, type, ROOT);
  return { added, modified, removed };
}

/** The live value with the applied value merged into it. */
export function merged(live: unknown, applied: unknown, type: FieldType): unknown {
  if (applied === undefined) return live;
  if (live === undefined || live === null || isAtomic(type)) return applied;
  if (type.kind === 'list') return mergedItems(live, applied, type.keys ?? [], type.of);
  if (!isTree(applied) || !isTree(live)) return applied;
  const members = new Map(Object.entries(live));
  for (const [name, member] of Object.entries(applied))
    members.set(name, merged(members.get(name), member, memberType(type, name)));
  return Object.fromEntries(members);
}

/** Items that are applied come in their order; the others keep their places between those that both have. */
function mergedItems(live: unknown, applied: unknown, keys: readonly Key[], type: FieldType): unknown[] {
  const [mine, theirs] = [itemsOf(keys, live), itemsOf(keys, applied)];
  const byStep = new Map(mine.map(({ step, value }) => [step, value]));
  const isApplied = new Set(theirs.map(({ step }) => step));
  const shared = theirs.filter(({ step }) => byStep.has(step)).map(({ step }) => step);
  const all: unknown[] = [];
  const done = new Set<string>();
  let [left, right] = [0, 0];
  const take = ({ step, value }: Item): void => {
    done.add(step);
    if (shared[0] === step) shared.shift();
    all.push(merged(byStep.get(step), value, type));
    right += 1;
  };
  while (left < mine.length || right < theirs.length) {
    const [own, other] = [mine[left], theirs[right]];
    if (own !== undefined && other !== undefined) {
      if (own.step === other.step) {
        take(other);
        left += 1;
        continue;
      }
      if (isApplied.has(own.step) && shared[0] !== undefined && shared[0] !== own.step) {
        left += 1;
        continue;
      }
    }
    if (own !== undefined) {
      if (!isApplied.has(own.step)) {
        all.push(own.value);
        left += 1;
        continue;
      }
      if (done.has(own.step)) left += 1;
    }
    if (other !== undefined) take(other);
  }
  return all;
}

/** The value without these fields. */
export function withoutFields(value: unknown, fields: FieldSet, type: FieldType, path: Path = ROOT): unknown {
  if (isAtomic(type) || typeof value !== 'object' || value === null) return value;
  if (type.kind === 'list') {
    return itemsOf(type.keys ?? [], value)
      .filter(({ step }) => !fields.has(at(path, step)))
      .map(({ step, value: item }) =>
        hasBelow(fields, at(path, step)) ? withoutFields(item, fields, type.of, at(path, step)) : item,
      );
  }
  if (!isTree(value)) return value;
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const below = at(path, `f:${name}`);
    if (fields.has(below)) return [];
    return [
      [name, hasBelow(fields, below) ? withoutFields(member, fields, memberType(type, name), below) : member],
    ];
  });
  return Object.fromEntries(kept) as Tree;
}

/** With the fields that identify items on the paths of the others. */
export function withNamedFields(set: FieldSet, type: FieldType): FieldSet {
  const all = new Set(set);
  for (const path of set) {
    let [way, below]: [Path, FieldType] = [ROOT, type];
    const steps = path.split('\0');
    for (const step of steps.slice(0, -1)) {
      way = at(way, step);
      const name = step.slice(2);
      if (step.startsWith('f:') && isNamed(below, name)) all.add(way);
      below = step.startsWith('f:') ? memberType(below, name) : below.kind === 'list' ? below.of : ANY;
    }
  }
  return all;
}
