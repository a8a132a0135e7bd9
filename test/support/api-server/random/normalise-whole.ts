/** Answers and events of an API server in which placeholders replace what differs from run to run: UIDs, times and versions. */
import type { Names } from '../exchanges/normalise.ts';

const TIME = /\b20(?!26-01-01)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\b/gu;
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu;
/** The words before a version in a text. */
const VERSION = /(resource ?version[^0-9"]{0,40}?\(?)(\d+)/giu;

type Tree = Readonly<Record<string, unknown>>;

export function normaliseWhole(value: unknown, names: Names, key = ''): unknown {
  if (typeof value === 'string') return key === 'continue' ? 'CONTINUE' : normalisedText(value, names);
  if (Array.isArray(value)) {
    const items = value.map((item) => normaliseWhole(item, names));
    // They are sorted by their times, which differ.
    return key === 'managedFields' ? items.sort(byManager) : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const tree = value as Tree;
  const isList = key === 'metadata' && tree.uid === undefined && tree.name === undefined;
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([name]) => !(isList && name === 'resourceVersion'))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [
        normalisedText(name, names),
        name === 'resourceVersion' && key === 'metadata'
          ? versionName(String(member), names)
          : normaliseWhole(member, names, name),
      ]),
  );
}

function normalisedText(text: string, names: Names): string {
  return (
    text
      .replace(TIME, 'TIME')
      // Texts in which Go prints the result of a patch, or the difference of specs, with members in its own order.
      .replace(/(patch: )?Invalid value: "(?:map\[|\{)(?:[^"\\]|\\.)*"/gu, 'Invalid value: "…"')
      .replace(/(previously negative\))\n[^]*$/u, '$1')
      .replace(UID, (uid) => nameOf(uid, 'UID-', names))
      .replace(/current: \d+$/u, 'current: VERSION')
      .replace(VERSION, (all, words: string, version: string) => {
        const name = names.get(`version ${version}`);
        return name === undefined ? (version === '1' ? all : `${words}VERSION`) : words + name;
      })
  );
}

/** A version that was in no answer gets a common name. */
function versionName(version: string, names: Names): string {
  return names.get(`version ${version}`) ?? 'UNTOLD';
}

/** Gives the versions of objects in an answer their names. */
export function nameVersions(answer: unknown, names: Names, key = ''): void {
  if (typeof answer !== 'object' || answer === null) return;
  for (const [name, member] of Object.entries(answer)) {
    const isVersion =
      name === 'resourceVersion' && key === 'metadata' && ('uid' in answer || 'name' in answer);
    if (isVersion) nameOf(`version ${String(member)}`, 'V', names);
    else nameVersions(member, names, name);
  }
}

function nameOf(value: string, kind: string, names: Names): string {
  const known = names.get(value);
  if (known !== undefined) return known;
  const name = `${kind}${names.size + 1}`;
  names.set(value, name);
  return name;
}

function byManager(one: unknown, other: unknown): number {
  const rank = (entry: unknown) => {
    const { operation, manager, subresource, apiVersion } = entry as Tree;
    return JSON.stringify([operation, manager, subresource, apiVersion]);
  };
  return rank(one) < rank(other) ? -1 : 1;
}
