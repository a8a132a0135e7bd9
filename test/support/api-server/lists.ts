/** Lists, whole or in parts. */
import type { StoredObject } from '../../../src/simulation/api/api-store.ts';
import type { AnyObject, Store } from './context.ts';
import { listOptions } from './list-options.ts';
import type { ResourceRequest } from './requests.ts';
import { selected } from './selectors.ts';
import { storeKey } from './served-types.ts';
import { badRequest, tooLargeVersion, tooOldContinue, tooOldList } from './status-error.ts';

export interface ListPart {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly AnyObject[];
}

interface Continuation {
  readonly version: number;
  readonly after: string;
}

export function listPart(store: Store, { verb, type, namespace, query }: ResourceRequest): ListPart {
  const { limit, continues, version: asked, match } = listOptions(query, type, false);
  const isSelected = selected(query.get('labelSelector'), query.get('fieldSelector'), type);
  const next = continues === '' ? undefined : continuation(continues);
  const wanted = Number(asked);
  if (wanted > store.version) throw tooLargeVersion(wanted, store.version, verb !== 'deletecollection');
  // A part of a list has exactly the requested version.
  const isExact =
    match === 'Exact' || (match === '' && (limit > 0 || verb === 'deletecollection') && wanted > 0);
  const version = next?.version ?? (isExact ? wanted : store.version);
  if (version < store.compacted) throw next === undefined ? tooOldList() : tooOldContinue();
  const key = storeKey(type);
  const all = version === store.version ? store.list(key) : store.listAt(key, version);
  const sorted = all
    .filter(
      (object) => (namespace === undefined || object.metadata.namespace === namespace) && isSelected(object),
    )
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const rest = next === undefined ? sorted : sorted.filter((object) => keyOf(object) > next.after);
  const items = (limit > 0 ? rest.slice(0, limit) : rest) as AnyObject[];
  const last = items.at(-1);
  const resourceVersion = String(version);
  if (items.length === rest.length || last === undefined) return { metadata: { resourceVersion }, items };
  const more = Buffer.from(JSON.stringify({ version, after: keyOf(last) })).toString('base64url');
  const hasSelector = query.has('labelSelector') || query.has('fieldSelector');
  const remaining = hasSelector ? {} : { remainingItemCount: rest.length - items.length };
  return { metadata: { resourceVersion, continue: more, ...remaining }, items };
}

const keyOf = ({ metadata: { namespace = '', name } }: StoredObject): string => `${namespace}/${name}`;

function continuation(token: string): Continuation {
  const text = Buffer.from(token, 'base64url').toString('latin1');
  try {
    const { version, after } = JSON.parse(text) as Continuation;
    if (Number.isInteger(version) && typeof after === 'string') return { version, after };
  } catch {
    throw badRequest(`${NO_CONTINUE}: invalid character '${firstOf(text)}' looking for beginning of value`);
  }
  throw badRequest(`${NO_CONTINUE}: server does not recognize this encoded version `);
}

const NO_CONTINUE = 'invalid continue token: continue key is not valid';

/** The first character, as Go quotes it. */
function firstOf(text: string): string {
  const code = text.charCodeAt(0);
  return code >= 0x20 && code < 0x7f ? text.charAt(0) : `\\u${code.toString(16).padStart(4, '0')}`;
}
