/** Parts of lists and watches of the double, on a store alone. */
import { describe, expect, test } from '@jest/globals';
import { ApiStore } from '../../../src/simulation/api/api-store.ts';
import type { Store } from './context.ts';
import { listPart } from './lists.ts';
import type { ResourceRequest } from './requests.ts';
import { typeOf } from './served-types.ts';
import { beginWatch } from './watches.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

function storeOf(...names: readonly string[]): Store {
  const store: Store = new ApiStore<string>();
  for (const name of names) store.add('configmaps', { metadata: { name, namespace: 'default' } }, undefined);
  return store;
}

function request(query: string, verb: 'list' | 'watch' = 'list'): ResourceRequest {
  const type = typeOf('configmaps');
  const place = { type, namespace: 'default', name: '', subresource: '', rest: '' };
  return { verb, ...place, query: new URLSearchParams(query) };
}

describe('a list in parts', () => {
  test('has every object once, as of the version of its first part, whatever changes between', () => {
    const store = storeOf(...NAMES);
    const first = listPart(store, request('limit=2'));
    const gone = store.get('configmaps', { namespace: 'default', name: 'd' })!;
    store.remove('configmaps', gone, undefined);
    store.add('configmaps', { metadata: { name: 'bb', namespace: 'default' } }, undefined);
    const names = first.items.map(({ metadata }) => metadata.name);
    let part = first;
    while (part.metadata.continue !== undefined) {
      part = listPart(store, request(`limit=2&continue=${part.metadata.continue}`));
      names.push(...part.items.map(({ metadata }) => metadata.name));
      expect(part.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    }
    expect(names).toEqual(NAMES);
    expect(first.metadata.remainingItemCount).toBe(3);
  });

  test('is over when the server has forgotten its version', () => {
    const store = storeOf(...NAMES);
    const { metadata } = listPart(store, request('limit=2'));
    store.add('configmaps', { metadata: { name: 'f', namespace: 'default' } }, undefined);
    store.compact();
    const next = () => listPart(store, request(`limit=2&continue=${metadata.continue ?? ''}`));
    expect(next).toThrow(expect.objectContaining({ code: 410, reason: 'Expired' }));
  });
});

describe('a watch', () => {
  function watched(store: Store, query: string) {
    const lines: {
      readonly type: string;
      readonly object: { readonly metadata: Record<string, unknown> };
    }[] = [];
    const { promise: ended, resolve } = Promise.withResolvers<undefined>();
    const end = () => resolve(undefined);
    const write = (line: string) => lines.push(JSON.parse(line) as (typeof lines)[number]) > 0;
    const stop = beginWatch({
      store,
      request: request(query, 'watch'),
      serve: (object) => object,
      sink: { write, end },
    });
    return { lines, stop, ended };
  }

  test('that begins with all objects sends a bookmark after them', () => {
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const { lines, stop } = watched(storeOf('a', 'b'), query);
    stop();
    expect(lines.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK']);
    expect(lines[2]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  test('sends a bookmark before its end, where the next one goes on', async () => {
    const store = storeOf('a');
    const { lines, ended } = watched(
      store,
      `resourceVersion=${store.version}&allowWatchBookmarks=true&timeoutSeconds=3`,
    );
    store.add('secrets', { metadata: { name: 's', namespace: 'default' } }, undefined);
    await ended;
    expect(lines.map(({ type }) => type)).toEqual(['BOOKMARK']);
    expect(lines[0]?.object.metadata.resourceVersion).toBe(String(store.version));
  });
});
