/** The server's side of strategic merge patches. */
import type { JsonObject, MergeRule, MergeRules } from '../../src/agent/policies/formats/strategic-merge.ts';

const ORDER_DIRECTIVE = '$setElementOrder/';

/** `original` with the patch applied to it. */
export function applyStrategicMergePatch(
  original: object,
  patch: object,
  rules: MergeRules = {},
): JsonObject {
  const merged = new Map<string, unknown>(Object.entries(original));
  const changes = Object.entries(patch);
  for (const [key, value] of changes.filter(([name]) => !name.startsWith(ORDER_DIRECTIVE))) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergedMember(merged.get(key), value, rules[key]));
  }
  for (const [key, order] of changes.filter(([name]) => name.startsWith(ORDER_DIRECTIVE))) {
    const field = key.slice(ORDER_DIRECTIVE.length);
    const mergeKey = mergeKeyOf(rules[field]);
    const list = merged.get(field);
    if (mergeKey === undefined || !Array.isArray(list) || !Array.isArray(order)) continue;
    merged.set(field, inOrder(list.filter(isObject), order.filter(isObject), mergeKey));
  }
  return Object.fromEntries(merged);
}

function mergedMember(before: unknown, change: unknown, rule: MergeRule | undefined): unknown {
  const mergeKey = mergeKeyOf(rule);
  if (Array.isArray(change)) {
    const elements = change.filter(isObject);
    if (elements.some(({ $patch }) => $patch === 'replace')) {
      return elements.filter(({ $patch }) => $patch === undefined);
    }
    if (mergeKey === undefined) return change;
    return mergedList(Array.isArray(before) ? before.filter(isObject) : [], elements, mergeKey);
  }
  if (!isObject(change)) return change;
  const fields = rule !== undefined && 'fields' in rule ? rule.fields : {};
  return applyStrategicMergePatch(isObject(before) ? before : {}, change, fields);
}

function mergedList(
  before: readonly JsonObject[],
  changes: readonly JsonObject[],
  mergeKey: string,
): JsonObject[] {
  let list = [...before];
  for (const change of changes) {
    const index = list.findIndex((element) => element[mergeKey] === change[mergeKey]);
    if (change.$patch === 'delete') list = list.filter((_element, i) => i !== index);
    else if (index < 0) list.push(applyStrategicMergePatch({}, change));
    else list = list.with(index, applyStrategicMergePatch(list[index] ?? {}, change));
  }
  return list;
}

/** The elements that the patch names, in its order. Each other element stays before the element that followed it. */
function inOrder(list: readonly JsonObject[], order: readonly JsonObject[], mergeKey: string): JsonObject[] {
  const place = new Map(order.map((element, i) => [element[mergeKey], i]));
  const others = list.filter((element) => !place.has(element[mergeKey]));
  const named = list
    .filter((element) => place.has(element[mergeKey]))
    .sort((a, b) => (place.get(a[mergeKey]) ?? 0) - (place.get(b[mergeKey]) ?? 0));
  const result: JsonObject[] = [];
  for (const element of named) {
    while (others[0] !== undefined && list.indexOf(others[0]) < list.indexOf(element)) {
      result.push(...others.splice(0, 1));
    }
    result.push(element);
  }
  return [...result, ...others];
}

function mergeKeyOf(rule: MergeRule | undefined): string | undefined {
  if (rule === undefined) return undefined;
  if ('mergeKey' in rule) return rule.mergeKey;
  return 'replaceByDirective' in rule ? 'type' : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
