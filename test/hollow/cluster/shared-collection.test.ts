import { afterEach, describe, expect, test } from '@jest/globals';
import { NEVER } from 'rxjs';
import type { WatchEvent } from '../../../src/agent/cluster/service/api-server.ts';
import { SharedCollection } from '../../../src/hollow/cluster/shared-collection.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

type Bound = Pick<Pod, 'metadata'> & { readonly spec: { readonly nodeName: string } };

const pod = (name: string, nodeName: string, version: number, uid = name): Bound => ({
  metadata: { namespace: 'default', name, uid, resourceVersion: String(version) },
  spec: { nodeName },
});
const names = (events: readonly WatchEvent<Bound>[]) =>
  events.map(({ type, object }) => `${type} ${object.metadata.name}`);

describe('a watch that many readers share', () => {
  const open = () =>
    new SharedCollection<Bound>({
      open: () => NEVER,
      readerOf: ({ spec }) => (spec.nodeName.startsWith('own-') ? spec.nodeName : undefined),
    });
  let shared = open();
  afterEach(() => {
    shared.close();
    shared = open();
  });

  const listed = (version: number, ...items: Bound[]) =>
    shared.replace({ metadata: { resourceVersion: String(version) }, items });
  const apply = (type: WatchEvent<Bound>['type'], object: Bound) => shared.apply({ type, object });
  const watch = (reader: string, version: number) => {
    const events: WatchEvent<Bound>[] = [];
    const failures: unknown[] = [];
    const options = { resourceVersion: String(version), timeoutSeconds: 60 };
    const subscription = shared
      .watch(reader, options)
      .subscribe({ next: (event) => events.push(event), error: (error) => failures.push(error) });
    return { events, failures, end: () => subscription.unsubscribe() };
  };

  test('each reader lists its own objects, once the server has listed any', async () => {
    const list = shared.list('own-1');
    listed(5, pod('a', 'own-1', 2), pod('b', 'own-2', 3), pod('c', 'other', 4));
    expect(await list).toMatchObject({
      metadata: { resourceVersion: '5' },
      items: [{ metadata: { name: 'a' } }],
    });
    expect((await shared.list('own-3')).items).toEqual([]);
  });

  test('each reader gets its own objects alone', () => {
    listed(5);
    const [one, two] = [watch('own-1', 5), watch('own-2', 5)];
    apply('ADDED', pod('a', 'own-1', 6));
    apply('ADDED', pod('c', 'other', 7));
    apply('MODIFIED', pod('a', 'own-1', 8));
    apply('DELETED', pod('a', 'own-1', 9));
    expect(names(one.events)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
    expect(two.events).toEqual([]);
  });

  test('a reader that begins with an older version gets the changes since', () => {
    listed(5, pod('a', 'own-1', 3));
    apply('MODIFIED', pod('a', 'own-1', 6));
    expect(names(watch('own-1', 5).events)).toEqual(['MODIFIED a']);
    expect(watch('own-1', 6).events).toEqual([]);
  });

  test('a reader that has missed a removal must list anew', () => {
    listed(5, pod('a', 'own-1', 3));
    apply('DELETED', pod('a', 'own-1', 6));
    expect(watch('own-1', 5).failures).toMatchObject([{ status: 410, reason: 'Expired' }]);
    expect(watch('own-1', 6).failures).toEqual([]);
  });

  test('what a later list lacks is sent as deleted, and what it has in another version as modified', () => {
    listed(5, pod('a', 'own-1', 3), pod('b', 'own-1', 4), pod('c', 'own-1', 5));
    const { events } = watch('own-1', 5);
    listed(9, pod('b', 'own-1', 8), pod('c', 'own-1', 5));
    expect(names(events)).toEqual(['DELETED a', 'MODIFIED b']);
  });

  test('the removal of an object that another one of its name has followed is not sent', () => {
    listed(5, pod('a', 'own-1', 4, 'second'));
    const { events } = watch('own-1', 5);
    expect(apply('DELETED', pod('a', 'own-1', 6, 'first'))).toBe(false);
    expect(events).toEqual([]);
  });

  test('a reader that has ended gets nothing more', () => {
    listed(5);
    const reader = watch('own-1', 5);
    expect(shared.readers).toBe(1);
    reader.end();
    apply('ADDED', pod('a', 'own-1', 6));
    expect([shared.readers, reader.events]).toEqual([0, []]);
  });
});
