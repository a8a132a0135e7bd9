/** Finds the differences between what two agents did. Pure. */

/** What was observed of a pod or of the node, by area: `status`, `files`, … */
export type Observed = Readonly<Record<string, unknown>>;

/** By manifest, with one more entry for the node. */
export type Observation = Readonly<Record<string, Observed>>;

export interface Difference {
  readonly manifest: string;
  readonly area: string;
  /** Names with slashes between them; `[name]` for elements of lists. */
  readonly path: string;
  /** As JSON; undefined if there is no value. */
  readonly kubelet: string | undefined;
  readonly statelet: string | undefined;
}

/** Fields that identify the elements of a list, if all elements have one of them. */
const IDENTITIES = ['name', 'type', 'container_path', 'key', 'mountPath', 'container_port', 'page_size'];

const below = (path: string, key: string): string => (path === '' ? key : `${path}/${key}`);

type Found = Pick<Difference, 'path' | 'kubelet' | 'statelet'>;

export function differences(kubelet: Observation, statelet: Observation): readonly Difference[] {
  return union(kubelet, statelet).flatMap((manifest) => {
    const [theirs, ours] = [kubelet[manifest] ?? {}, statelet[manifest] ?? {}];
    // If only one agent has accepted the manifest, nothing else is compared.
    const differ = compare(theirs.accepted, ours.accepted, '');
    if (differ.length > 0) return differ.map((found) => ({ manifest, area: 'accepted', ...found }));
    return union(theirs, ours).flatMap((area) =>
      compare(theirs[area], ours[area], '').map((found) => ({ manifest, area, ...found })),
    );
  });
}

function compare(theirs: unknown, ours: unknown, path: string): readonly Found[] {
  const [a, b] = [keyed(theirs), keyed(ours)];
  if (a === undefined || b === undefined) return differ(path, theirs, ours);
  const inside = union(a, b).flatMap((key) => compare(a[key], b[key], below(path, key)));
  return Array.isArray(theirs) && Array.isArray(ours) ? [...inside, ...order(a, b, path)] : inside;
}

function differ(path: string, theirs: unknown, ours: unknown): readonly Found[] {
  const [kubelet, statelet] = [text(theirs), text(ours)];
  return kubelet === statelet ? [] : [{ path, kubelet, statelet }];
}

const text = (value: unknown): string | undefined => (value === undefined ? undefined : sorted(value));

/** JSON in which the order of keys does not matter. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1))) : item,
  );

/** The difference in the order of the common elements. */
function order(a: Observed, b: Observed, path: string): readonly Found[] {
  const common = (of: Observed, other: Observed) => Object.keys(of).filter((key) => key in other);
  return differ(below(path, '<order>'), common(a, b), common(b, a));
}

/** The members of an object, or the elements of a list by their identity; undefined for other values. */
function keyed(value: unknown): Observed | undefined {
  if (isObject(value)) return value;
  if (!Array.isArray(value) || value.length === 0 || !value.every(isObject)) return undefined;
  const identity = IDENTITIES.find((name) => {
    const names = value.map((item) => item[name]);
    return names.every((found) => found !== undefined) && new Set(names).size === names.length;
  });
  if (identity === undefined) return undefined;
  return Object.fromEntries(value.map((item) => [`[${String(item[identity])}]`, item]));
}

const isObject = (value: unknown): value is Observed =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const union = (a: object, b: object): readonly string[] => [
  ...new Set([...Object.keys(a), ...Object.keys(b)]),
];
