/** Lists, whole or in parts. */
import type { StoredObject } from '../../../src/simulation/api/api-store.ts';
import type { AnyObject, Store } from './context.ts';
import type { ResourceRequest } from './requests.ts';
import { selected } from './selectors.ts';
import { storeKey } from './served-types.ts';
import { badRequest, expired, tooLargeVersion } from './status-error.ts';

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

export function listPart(store: Store, { type, namespace, query }: ResourceRequest): ListPart {
  const isSelected = selected(query.get('labelSelector'), query.get('fieldSelector'));
  const limit = Number(query.get('limit') ?? 0);
  const token = query.get('continue') ?? '';
  const next = token === '' ? undefined : continuation(token);
  const asked = query.get('resourceVersion') ?? '';
  const wanted = versionOf(asked);
  if (wanted > store.version) throw tooLargeVersion(wanted, store.version);
  const exact = query.get('resourceVersionMatch') === 'Exact' ? wanted : undefined;
  const version = next?.version ?? exact ?? store.version;
  if (version < store.compacted) throw expired(version, store.compacted);
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

export function versionOf(text: string): number {
  if (!/^\d*$/.test(text)) throw badRequest(`Invalid value: "${text}": must be a number`);
  return Number(text);
}

const keyOf = ({ metadata: { namespace = '', name } }: StoredObject): string => `${namespace}/${name}`;

function continuation(token: string): Continuation {
  try {
    const { version, after } = JSON.parse(Buffer.from(token, 'base64url').toString()) as Continuation;
    if (Number.isInteger(version) && typeof after === 'string') return { version, after };
  } catch {
    // Told below.
  }
  throw badRequest('continue key is not valid: illegal base64 data');
}
