/** Answers of an API server without members that differ from run to run: UIDs, times, versions, and managed fields. */

/** The placeholder of a value that differs, by the value. */
export type Names = Map<string, string>;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/u;
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu;
/** Members that no node needs, or that differ in each version of the server. */
const LEFT_OUT = new Set(['managedFields', 'resourceVersion', 'selfLink', 'remainingItemCount', 'continue']);

export function normalise(value: unknown, names: Names, key = ''): unknown {
  if (typeof value === 'string') return normalisedText(value, names, key);
  if (Array.isArray(value)) return value.map((item) => normalise(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !LEFT_OUT.has(name) && !(name === 'creationTimestamp' && member === null))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, normalise(member, names, name)]),
  );
}

function normalisedText(text: string, names: Names, key: string): string {
  if (TIME.test(text)) return 'TIME';
  if (key === 'token') return 'TOKEN';
  return text.replace(UID, (uid) => {
    const name = names.get(uid) ?? `UID-${names.size + 1}`;
    names.set(uid, name);
    return name;
  });
}
