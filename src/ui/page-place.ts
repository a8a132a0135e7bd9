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

/** The same place, where one word of the query is another one; an empty one is left out. */
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
