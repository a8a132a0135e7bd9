/** Times as the page writes them: in the time zone of the browser, and as distances from now. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `5s`, `3m`, `2h`, `4d`. */
export function duration(ms: number): string {
  const distance = Math.abs(ms);
  if (distance < 100 * SECOND_MS) return `${Math.floor(distance / SECOND_MS)}s`;
  if (distance < 100 * MINUTE_MS) return `${Math.floor(distance / MINUTE_MS)}m`;
  if (distance < 48 * HOUR_MS) return `${Math.floor(distance / HOUR_MS)}h`;
  return `${Math.floor(distance / DAY_MS)}d`;
}

/** `10:32:05`. */
export function clockTime(atMs: number): string {
  const at = new Date(atMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** With milliseconds: transitions follow each other closely. */
export function exactTime(atMs: number): string {
  return `${clockTime(atMs)}.${String(new Date(atMs).getMilliseconds()).padStart(3, '0')}`;
}

/** What the page shows, as its address says it after `#`: `/pod/default/web?zoom=1h`. A link shows the same elsewhere. */

export interface Place {
  /** `['pod', 'default', 'web']`; empty: the pods. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#/u, '').split(/\?(.*)/su);
  return { parts: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

export function hashOf({ parts, query }: Place): string {
  const text = query.toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** The same place with one word of the query changed. An empty word is left out. */
export function placeWith({ parts, query }: Place, name: string, value: string): Place {
  const changed = new URLSearchParams(query);
  if (value === '') changed.delete(name);
  else changed.set(name, value);
  return { parts, query: changed };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
