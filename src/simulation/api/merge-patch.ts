/** Strategic merge patches as an API server applies them: by the rules of Kubernetes. It shares no code with the agent, which makes such patches. */
import { isJsonObject } from '../../agent/policies/formats/canonical-json.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Lists that are merged, with the member that identifies their items. All other lists are replaced as a whole. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  'metadata.ownerReferences': 'uid',
  'status.conditions': 'type',
  'status.addresses': 'type',
  'status.hostIPs': 'ip',
  'status.podIPs': 'ip',
  'status.resourceClaimStatuses': 'name',
  'spec.volumes': 'name',
  'spec.containers': 'name',
  'spec.initContainers': 'name',
  'spec.ephemeralContainers': 'name',
  'spec.imagePullSecrets': 'name',
  'spec.hostAliases': 'ip',
  'spec.topologySpreadConstraints': 'topologyKey',
  'spec.schedulingGates': 'name',
  'spec.resourceClaims': 'name',
  'spec.ports': 'port',
  secrets: 'name',
  imagePullSecrets: 'name',
};
/** Lists in each container. */
const CONTAINER_KEYS: Readonly<Record<string, string>> = {
  ports: 'containerPort',
  env: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
};
const IN_CONTAINER = /^spec\.(?:containers|initContainers|ephemeralContainers)\.(\w+)$/;
/** Kinds that make pods have the pod's spec in a template. */
const TEMPLATE = /^spec\.(?:jobTemplate\.spec\.)?template\./;
/** Lists of texts that are merged. */
const MERGED_TEXTS: ReadonlySet<string> = new Set(['metadata.finalizers', 'spec.podCIDRs']);

const ORDER = '$setElementOrder/';
const DROP = '$deleteFromPrimitiveList/';
const RETAIN = '$retainKeys';
const DIRECTIVE = '$patch';

export function applyMergePatch(original: JsonObject, patch: JsonObject, path = ''): JsonObject {
  if (patch[DIRECTIVE] === 'delete') return {};
  if (patch[DIRECTIVE] === 'replace') return plain(patch);
  const merged = new Map(Object.entries(retained(original, patch[RETAIN])));
  for (const key of keysOf(patch)) {
    const value = patch[key];
    const before = merged.get(key);
    const orders = { order: patch[ORDER + key], dropped: patch[DROP + key] };
    if (value === null) merged.delete(key);
    // A directive does nothing where there is no value to replace or remove.
    else if (before === undefined && isJsonObject(value) && value[DIRECTIVE] !== undefined) continue;
    else merged.set(key, mergedMember(before, value, orders, join(path, key)));
  }
  return Object.fromEntries(merged);
}

/** The directives of a patch about a list, beside its items. */
interface ListOrders {
  readonly order: unknown;
  readonly dropped: unknown;
}

function mergedMember(before: unknown, value: unknown, orders: ListOrders, path: string): unknown {
  const { order, dropped } = orders;
  const mergeKey = mergeKeyOf(path.replace(TEMPLATE, ''));
  if (mergeKey !== undefined && (isList(value) || isList(order))) {
    return mergedList(listOf(before), listOf(value), isList(order) ? order : undefined, { mergeKey, path });
  }
  if (MERGED_TEXTS.has(path) && (isList(value) || isList(dropped)))
    return mergedTexts(before, value, dropped);
  if (isJsonObject(value)) return applyMergePatch(isJsonObject(before) ? before : {}, value, path);
  return value === undefined ? before : value;
}

function mergeKeyOf(path: string): string | undefined {
  return MERGE_KEYS[path] ?? CONTAINER_KEYS[IN_CONTAINER.exec(path)?.[1] ?? ''];
}

function mergedTexts(before: unknown, value: unknown, dropped: unknown): readonly unknown[] {
  const all = new Set([...(isList(before) ? before : []), ...(isList(value) ? value : [])]);
  for (const text of isList(dropped) ? dropped : []) all.delete(text);
  return [...all];
}

/** Directives name members, too: a patch may change the order of a list and none of its items. */
function keysOf(patch: JsonObject): ReadonlySet<string> {
  const keys = Object.keys(patch).map(
    (key) => /^\$(?:setElementOrder|deleteFromPrimitiveList)\/(.*)$/.exec(key)?.[1] ?? key,
  );
  return new Set(keys.filter((key) => !key.startsWith('$')));
}

function retained(original: JsonObject, keys: unknown): JsonObject {
  if (!isList(keys)) return original;
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
}

function mergedList(
  before: readonly JsonObject[],
  changes: readonly JsonObject[],
  order: readonly unknown[] | undefined,
  { mergeKey, path }: { readonly mergeKey: string; readonly path: string },
): readonly JsonObject[] {
  const values = changes.filter((item) => item[DIRECTIVE] === undefined);
  if (changes.some((item) => item[DIRECTIVE] === 'replace')) return values.map(plain);
  const dropped = new Set(
    changes.filter((item) => item[DIRECTIVE] === 'delete').map((item) => item[mergeKey]),
  );
  const merged = before.filter((item) => !dropped.has(item[mergeKey]));
  for (const value of values) {
    const index = merged.findIndex((item) => item[mergeKey] === value[mergeKey]);
    const item = applyMergePatch(merged[index] ?? {}, value, path);
    if (index >= 0) merged[index] = item;
    else merged.push(item);
  }
  const wanted = (order ?? values).map((item) => (isJsonObject(item) ? item[mergeKey] : undefined));
  return inOrder(
    merged,
    wanted,
    before.map((item) => item[mergeKey]),
    mergeKey,
  );
}

/** Items that the patch names are in its order, the others in theirs. Another item comes first where the old list says so. */
function inOrder(
  items: readonly JsonObject[],
  wanted: readonly unknown[],
  formerly: readonly unknown[],
  mergeKey: string,
): readonly JsonObject[] {
  const rank = (item: JsonObject, ranks: readonly unknown[]) => ranks.indexOf(item[mergeKey]);
  const by = (ranks: readonly unknown[]) => (one: JsonObject, other: JsonObject) =>
    rank(one, ranks) - rank(other, ranks);
  const named = items.filter((item) => rank(item, wanted) >= 0).sort(by(wanted));
  const others = items.filter((item) => rank(item, wanted) < 0).sort(by(formerly));
  const all: JsonObject[] = [];
  for (const item of named) {
    const at = rank(item, formerly);
    while (at >= 0 && others[0] !== undefined && rank(others[0], formerly) < at)
      all.push(...others.splice(0, 1));
    all.push(item);
  }
  return [...all, ...others];
}

/** Without directives, and without members that are null. */
function plain(value: JsonObject): JsonObject {
  return applyMergePatch({}, Object.fromEntries(Object.entries(value).filter(([key]) => key !== DIRECTIVE)));
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function listOf(value: unknown): readonly JsonObject[] {
  return isList(value) ? value.filter(isJsonObject) : [];
}
