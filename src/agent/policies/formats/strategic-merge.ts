/**
 * Strategic merge patches, as a node sends them to the API server: only what differs. Elements of a list with a merge key are patched
 * one by one, other lists are replaced.
 */
import { equalJson, isJsonObject } from './canonical-json.ts';
import { formatQuantity, parseQuantity } from './quantity.ts';

/** How a field is patched. Without a rule, an object is patched member by member, and everything else is replaced as a whole. */
export type MergeRule =
  /** A list whose elements have this member as their key. */
  | { readonly mergeKey: string }
  /** A list that has a merge key on the server, and is replaced all the same: its keys are not unique. */
  | { readonly replaceByDirective: true }
  /** Quantities by name. They are compared and written in their canonical form. */
  | { readonly quantities: true }
  /** An object some of whose fields have rules. */
  | { readonly fields: MergeRules };

export type MergeRules = Readonly<Record<string, MergeRule>>;

export type JsonObject = Readonly<Record<string, unknown>>;

export const POD_STATUS_RULES: MergeRules = {
  conditions: { mergeKey: 'type' },
  hostIPs: { mergeKey: 'ip' },
  podIPs: { mergeKey: 'ip' },
  resourceClaimStatuses: { mergeKey: 'name' },
};

/** Several addresses may have one type, which is their merge key on the server. */
export const NODE_RULES: MergeRules = {
  status: {
    fields: {
      addresses: { replaceByDirective: true },
      allocatable: { quantities: true },
      capacity: { quantities: true },
      conditions: { mergeKey: 'type' },
    },
  },
};

const ORDER_DIRECTIVE = '$setElementOrder/';

/** The patch that makes `modified` of `original`. It has no members where they are equal. */
export function strategicMergePatch(original: object, modified: object, rules: MergeRules = {}): JsonObject {
  const patch: Record<string, unknown> = {};
  const before = original as JsonObject;
  const after = modified as JsonObject;
  for (const [key, value] of Object.entries(after)) {
    if (!isAbsent(value)) patchMember(patch, key, before[key], value, rules[key]);
  }
  for (const [key, value] of Object.entries(before)) {
    if (!isAbsent(value) && isAbsent(after[key])) patch[key] = null;
  }
  return patch;
}

/** The server leaves out empty lists. */
function isAbsent(value: unknown): boolean {
  return value == null || (Array.isArray(value) && value.length === 0);
}

function patchMember(
  patch: Record<string, unknown>,
  key: string,
  before: unknown,
  after: unknown,
  rule: MergeRule | undefined,
): void {
  if (rule !== undefined && 'quantities' in rule) {
    patchObject(patch, key, canonicalQuantities(before), canonicalQuantities(after), {});
  } else if (Array.isArray(before) && Array.isArray(after)) {
    patchList(patch, key, before, after, rule);
  } else if (isJsonObject(before) && isJsonObject(after)) {
    patchObject(patch, key, before, after, rule !== undefined && 'fields' in rule ? rule.fields : {});
  } else if (!equalJson(before, after)) {
    patch[key] = after;
  }
}

function patchObject(
  patch: Record<string, unknown>,
  key: string,
  before: unknown,
  after: unknown,
  rules: MergeRules,
): void {
  if (!isJsonObject(before) || !isJsonObject(after)) {
    patch[key] = after;
    return;
  }
  const members = strategicMergePatch(before, after, rules);
  if (Object.keys(members).length > 0) patch[key] = members;
}

function patchList(
  patch: Record<string, unknown>,
  key: string,
  before: readonly unknown[],
  after: readonly unknown[],
  rule: MergeRule | undefined,
): void {
  if (rule !== undefined && 'mergeKey' in rule && before.length > 0) {
    const { mergeKey } = rule;
    const elements = patchElements(before.filter(isJsonObject), after.filter(isJsonObject), mergeKey);
    if (elements.length > 0) patch[key] = elements;
    const order = keysOf(after, mergeKey);
    if (elements.length > 0 || !equalJson(keysOf(before, mergeKey), order))
      patch[ORDER_DIRECTIVE + key] = order;
  } else if (!equalJson(before, after)) {
    const byDirective = rule !== undefined && 'replaceByDirective' in rule && before.length > 0;
    patch[key] = byDirective ? [...after, { $patch: 'replace' }] : after;
  }
}

/** Added and changed elements in their new order, then the deleted ones by key. */
function patchElements(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  mergeKey: string,
): JsonObject[] {
  const changed = after.flatMap((element) => {
    const former = before.find((other) => other[mergeKey] === element[mergeKey]);
    if (former === undefined) return [element];
    const members = strategicMergePatch(former, element);
    return Object.keys(members).length === 0 ? [] : [{ ...members, [mergeKey]: element[mergeKey] }];
  });
  const deleted = before
    .filter((former) => !after.some((element) => element[mergeKey] === former[mergeKey]))
    .map((former): JsonObject => ({ $patch: 'delete', [mergeKey]: former[mergeKey] }))
    .sort((a, b) => (String(a[mergeKey]) < String(b[mergeKey]) ? -1 : 1));
  return [...changed, ...deleted];
}

function keysOf(list: readonly unknown[], mergeKey: string): JsonObject[] {
  return list.filter(isJsonObject).map((element) => ({ [mergeKey]: element[mergeKey] }));
}

function canonicalQuantities(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, quantity]) => [name, canonicalQuantity(quantity)]),
  );
}

function canonicalQuantity(value: unknown): unknown {
  return typeof value === 'string' || typeof value === 'number'
    ? formatQuantity(parseQuantity(value))
    : value;
}
