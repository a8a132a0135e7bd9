/** The managers of the fields of an object: how a change or an apply changes `metadata.managedFields`. */
import { equalJson, without } from '../../../../src/agent/policies/formats/canonical-json.ts';
import type { AnyObject, Draft } from '../context.ts';
import { alwaysTold } from '../object-defaults.ts';
import { apiVersionOf, type ServedType, storeKey } from '../served-types.ts';
import { StatusError } from '../status-error.ts';
import {
  decoded,
  difference,
  encoded,
  filtered,
  type FieldSet,
  inOrder,
  inside,
  intersection,
  outside,
  type Path,
  pathText,
  union,
} from './field-sets.ts';
import { type FieldType, objectType } from './field-types.ts';
import { compared, fieldsOf, merged, withNamedFields, withoutFields } from './typed-values.ts';

export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: Draft;
  readonly subresource?: string;
}

/** A change of an object, as far as its fields' managers are concerned. */
export interface ManagedChange {
  readonly type: ServedType;
  readonly subresource: string;
  /** Undefined: the object is new. */
  readonly live: AnyObject | undefined;
  readonly manager: string;
  /** RFC 3339. */
  readonly at: string;
}

interface Manager {
  readonly entry: Omit<ManagedFieldsEntry, 'fieldsV1' | 'time'>;
  readonly time: string | undefined;
  readonly set: FieldSet;
}

type Managers = Map<string, Manager>;

const UPDATERS_MAX = 10;
const NOBODY_ELSE = 'before-first-apply';
/** Fields that are never listed as managed. */
const STRIPPED: FieldSet = new Set([
  ...['f:apiVersion', 'f:kind', 'f:metadata'],
  ...['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation'].map(
    (name) => `f:metadata\0f:${name}`,
  ),
  ...['managedFields', 'resourceVersion'].map((name) => `f:metadata\0f:${name}`),
]);

/** The entries after the object has become `next`. Undefined: there are none. */
export function entriesAfter(change: ManagedChange, next: Draft): readonly ManagedFieldsEntry[] | undefined {
  const { live, subresource } = change;
  const sent = (next.metadata as Draft | undefined)?.managedFields as
    | readonly ManagedFieldsEntry[]
    | undefined;
  const isReset =
    sent !== undefined &&
    (sent.length === 0 || (sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0));
  if (isReset && subresource === '') return undefined;
  const known = subresource === '' && sent !== undefined ? sent : entriesIn(live);
  const managers = managersIn(known);
  if (live !== undefined && managers.size === 0) return undefined;
  noteChange(managers, change, next);
  mergeOldest(managers);
  return entriesOf(managers);
}

/** The object after an apply. Throws the conflict with other managers, unless the apply is forced. */
export function applied(
  change: ManagedChange,
  config: Draft,
  force: boolean,
): { readonly object: Draft; readonly entries: readonly ManagedFieldsEntry[] | undefined } {
  const { type, live } = change;
  const schema = objectType(type);
  const managers = managersIn(entriesIn(live));
  const before = live === undefined ? emptyObject(type) : withoutManaged(live);
  if (live !== undefined && managers.size === 0)
    noteChange(managers, { ...change, live: undefined, manager: NOBODY_ELSE, subresource: '' }, before);
  const entry = entryOf(change, 'Apply');
  const key = keyOf(entry);
  const formerly = managers.get(key);
  managers.set(key, { entry, time: formerly?.time, set: ofSubresource(fieldsOf(config, schema), change) });
  const object = pruned(merged(before, config, schema), formerly?.set, { managers, schema }) as Draft;
  const { added, modified, removed } = changesOf(change, before, object);
  if (!force) refuseConflicts(managers, key, union(added, modified));
  leave(managers, key, union(added, modified, removed));
  const mine = managers.get(key);
  const own = difference(mine?.set ?? new Set(), STRIPPED);
  const isSame = live !== undefined && equalJson(plainOf(before), plainOf(object));
  if (own.size === 0) managers.delete(key);
  else managers.set(key, { entry, time: isSame ? formerly?.time : change.at, set: own });
  return { object, entries: entriesOf(managers) };
}

/** Whether the entries differ in more than their times. */
export function sameManagers(
  one: readonly ManagedFieldsEntry[] | undefined,
  other: readonly ManagedFieldsEntry[] | undefined,
): boolean {
  const plain = (entries: readonly ManagedFieldsEntry[] = []) =>
    entries.map((entry) => without(entry, ['time']));
  return equalJson(plain(one), plain(other));
}

export function entriesIn(object: AnyObject | undefined): readonly ManagedFieldsEntry[] | undefined {
  return (object?.metadata as Draft | undefined)?.managedFields as readonly ManagedFieldsEntry[] | undefined;
}

const plainOf = (object: Draft) => without(object, ['apiVersion', 'kind']);

export function withoutManaged<T extends Draft>(object: T): T {
  return { ...object, metadata: without(object.metadata as Draft, ['managedFields']) };
}

function noteChange(managers: Managers, change: ManagedChange, next: Draft): void {
  const { type, live } = change;
  const before = live === undefined ? emptyObject(type) : withoutManaged(live);
  const { added, modified, removed } = changesOf(change, before, withoutManaged(next));
  const taken = union(added, modified);
  leave(managers, undefined, union(taken, removed));
  const own = difference(taken, STRIPPED);
  if (own.size === 0) return;
  const entry = entryOf(change, 'Update');
  const mine = managers.get(keyOf(entry));
  managers.set(keyOf(entry), {
    entry,
    time: change.at,
    set: mine === undefined ? own : union(mine.set, own),
  });
}

/** All but this manager lose these fields. */
function leave(managers: Managers, but: string | undefined, fields: FieldSet): void {
  if (fields.size === 0) return;
  for (const [key, manager] of managers) {
    if (key === but) continue;
    const left = difference(manager.set, fields);
    if (left.size === 0) managers.delete(key);
    else if (left.size < manager.set.size) managers.set(key, { ...manager, set: left });
  }
}

interface Pruning {
  readonly managers: Managers;
  readonly schema: FieldType;
}

/** Without fields that the manager applied the last time and does not apply now, unless another manager has them. */
function pruned(object: unknown, formerly: FieldSet | undefined, { managers, schema }: Pruning): unknown {
  if (formerly === undefined || formerly.size === 0) return object;
  const last = withNamedFields(formerly, schema);
  const all = withNamedFields(fieldsOf(object, schema), schema);
  const fieldsIn = (value: unknown) => withNamedFields(fieldsOf(value, schema), schema);
  const owned = withNamedFields(union(...Array.from(managers.values(), ({ set }) => set)), schema);
  const without1 = withoutFields(object, last, schema);
  const without2 = withoutFields(object, difference(all, union(fieldsIn(without1), owned)), schema);
  return withoutFields(object, intersection(difference(all, fieldsIn(without2)), last), schema);
}

function refuseConflicts(managers: Managers, mine: string, taken: FieldSet): void {
  const conflicts = [...managers]
    .filter(([key]) => key !== mine)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { entry, set }]) => ({
      name: managerText(entry),
      paths: inOrder(intersection(set, taken)).map(pathText),
    }))
    .filter(({ paths }) => paths.length > 0);
  const causes = conflicts.flatMap(({ name, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${name}`, field })),
  );
  const [only] = causes;
  if (only === undefined) return;
  const lines = conflicts.flatMap(({ name, paths }) => [
    `conflicts with ${name}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
  const what =
    causes.length === 1
      ? `1 conflict: ${only.message}: ${only.field}`
      : `${causes.length} conflicts: ${lines.join('\n')}`;
  throw new StatusError(409, 'Conflict', `Apply failed with ${what}`, { causes });
}

function managerText({ manager, operation, apiVersion, subresource }: Manager['entry']): string {
  const name = `${JSON.stringify(manager)}${subresource === undefined ? '' : ` with subresource "${subresource}"`}`;
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}

/** The changed fields that belong to this subresource. */
function changesOf(change: ManagedChange, before: Draft, after: Draft) {
  const { added, modified, removed } = compared(before, after, objectType(change.type));
  const [ofAdded, ofModified, ofRemoved] = [added, modified, removed].map((set) =>
    ofSubresource(set, change),
  ) as [FieldSet, FieldSet, FieldSet];
  return { added: ofAdded, modified: ofModified, removed: ofRemoved };
}

const RESIZED = /^f:spec\0f:(?:initC|c)ontainers\0k:[^\0]*\0f:res(?:ources|izePolicy)/u;
const EPHEMERAL = ['f:spec\0f:ephemeralContainers'];

function ofSubresource(set: FieldSet, { type, subresource }: ManagedChange): FieldSet {
  const isPod = type.plural === 'pods';
  if (subresource === 'ephemeralcontainers') return inside(set, EPHEMERAL);
  if (subresource === 'resize') return filtered(set, (path) => RESIZED.test(path));
  const reset: Path[] = [];
  if (subresource === '' && type.subresources.includes('status')) reset.push('f:status');
  if (subresource === 'status') reset.push('f:spec');
  if (subresource === 'status' && isPod)
    reset.push('f:metadata\0f:deletionTimestamp', 'f:metadata\0f:ownerReferences');
  return outside(set, reset);
}

/** An empty object as in the server's own types: with members that are objects, and with some lists. */
function emptyObject(type: ServedType): Draft {
  const schema = objectType(type);
  const members = ['spec', 'status'].filter(
    (name) => schema.kind === 'object' && schema.fields.get(name)?.kind === 'object',
  );
  const empty: Draft = { metadata: {}, ...Object.fromEntries(members.map((name) => [name, {}])) };
  if (type.plural === 'pods') empty.spec = { containers: null };
  return { ...empty, ...alwaysTold(storeKey(type)) };
}

function entryOf(
  { manager, type, subresource }: ManagedChange,
  operation: 'Apply' | 'Update',
): Manager['entry'] {
  return {
    manager: manager === '' ? 'unknown' : manager,
    operation,
    apiVersion: apiVersionOf(type),
    fieldsType: 'FieldsV1',
    ...(subresource !== '' && { subresource }),
  };
}

/** The key of a manager. Managers that apply are the same in each version. */
function keyOf({ manager, operation, apiVersion, subresource }: Manager['entry']): string {
  return JSON.stringify({ manager, operation, ...(operation === 'Update' && { apiVersion }), subresource });
}

function managersIn(entries: readonly ManagedFieldsEntry[] = []): Managers {
  return new Map(
    entries.map(({ fieldsV1, time, ...entry }) => [keyOf(entry), { entry, time, set: decoded(fieldsV1) }]),
  );
}

function entriesOf(managers: Managers): readonly ManagedFieldsEntry[] | undefined {
  if (managers.size === 0) return undefined;
  const entries = Array.from(managers.values(), ({ entry, time, set }): ManagedFieldsEntry => {
    const { manager, operation, apiVersion, fieldsType, subresource } = entry;
    return {
      ...{ manager, operation, apiVersion },
      ...(time !== undefined && { time }),
      ...{ fieldsType, fieldsV1: encoded(set) },
      ...(subresource !== undefined && { subresource }),
    };
  });
  const rank = ({ operation, time = '', manager, apiVersion, subresource = '' }: ManagedFieldsEntry) =>
    [operation, time, manager, apiVersion, subresource].join('\0');
  return entries.sort((one, other) => (rank(one) < rank(other) ? -1 : 1));
}

/** Only so many managers that change objects have entries of their own. */
function mergeOldest(managers: Managers): void {
  const updaters = [...managers]
    .filter(([, { entry }]) => entry.operation === 'Update')
    .sort(([a, one], [b, other]) => ((one.time ?? '') + a < (other.time ?? '') + b ? -1 : 1));
  const [first, ...rest] = updaters;
  const surplus = updaters.length - UPDATERS_MAX;
  if (surplus <= 0 || first === undefined) return;
  const old = [first, ...rest.slice(0, surplus)];
  const entry: Manager['entry'] = { ...without(first[1].entry, ['subresource']), manager: 'ancient-changes' };
  const time = old.at(-1)?.[1].time;
  for (const [key] of old) managers.delete(key);
  managers.set(keyOf(entry), { entry, time, set: union(...old.map(([, { set }]) => set)) });
}
