import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Subject, type Subscription } from 'rxjs';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { reflect, type Reflection } from '../../../../src/agent/cluster/watches/reflect.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { type ListCall, ScriptedApi, type WatchCall } from '../../../support/scripted-api.ts';

let clock: VirtualClock;
let api: ScriptedApi;
let chance: number;
let seen: Reflection<Pod>[];
let subscription: Subscription;
let recovered: Subject<undefined>;

beforeEach(() => {
  clock = new VirtualClock();
  api = new ScriptedApi();
  chance = 0;
  seen = [];
  recovered = new Subject();
  const options = { clock, random: () => chance, fieldSelector: 'spec.nodeName=node-1', recovered };
  subscription = reflect<Pod>(api, { resource: 'pods' }, options).subscribe((reflection) =>
    seen.push(reflection),
  );
});
afterEach(() => subscription.unsubscribe());

const pod = (name: string, resourceVersion: string, more: object = {}) => ({
  metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion, ...more },
});
const bookmark = (resourceVersion: string) => ({ metadata: { resourceVersion } });
const names = ({ objects }: Reflection<Pod>) => objects?.map(({ metadata }) => metadata.name);
const last = () => seen.at(-1) ?? {};

function take<T>(calls: T[]): T {
  const call = calls.shift();
  if (call === undefined) throw new Error('the request has not been made');
  return call;
}
/** The next list; waits for it no longer than a back-off may take. */
async function nextList(): Promise<ListCall> {
  await clock.advance(0);
  return take(api.lists);
}
async function nextWatch(): Promise<WatchCall> {
  await clock.advance(0);
  return take(api.watches);
}
async function listed(...pods: readonly object[]): Promise<WatchCall> {
  (await nextList()).answer('10', ...pods);
  return nextWatch();
}
const unavailable = () => new StateletError('Unavailable', 'connection refused');

describe('a set of objects', () => {
  test('is listed with the selector, without a resourceVersion, then watched from the version of the list', async () => {
    const list = await nextList();
    expect(list.collection).toEqual({ resource: 'pods' });
    expect(list.options).toMatchObject({ fieldSelector: 'spec.nodeName=node-1' });
    expect(list.options.resourceVersion).toBeUndefined();
    list.answer('10', pod('a', '3'), pod('b', '7'));
    const watch = await nextWatch();
    expect(names(last())).toEqual(['a', 'b']);
    expect(watch.options).toEqual({
      fieldSelector: 'spec.nodeName=node-1',
      resourceVersion: '10',
      timeoutSeconds: 300,
    });
  });

  test('follows the events of the watch', async () => {
    const watch = await listed(pod('a', '3'), pod('b', '7'));
    watch.send('ADDED', pod('c', '11'));
    expect(names(last())).toEqual(['a', 'b', 'c']);
    watch.send('MODIFIED', pod('a', '12', { labels: { x: 'y' } }));
    expect(last().objects?.[0]?.metadata.labels).toEqual({ x: 'y' });
    watch.send('DELETED', pod('b', '13'));
    expect(names(last())).toEqual(['a', 'c']);
  });

  test('keeps the objects that did not change as they are, so that a reader can compare them fast', async () => {
    const watch = await listed(pod('a', '3'), pod('b', '7'));
    const before = last().objects?.[0];
    watch.send('MODIFIED', pod('b', '11'));
    expect(last().objects?.[0]).toBe(before);
  });

  test('drops managedFields, which only cost memory', async () => {
    const watch = await listed(pod('a', '3', { managedFields: [{ manager: 'kubectl' }] }));
    expect(last().objects?.[0]?.metadata.managedFields).toBeUndefined();
    watch.send('ADDED', pod('b', '11', { managedFields: [{ manager: 'kubectl' }] }));
    expect(last().objects?.[1]?.metadata.managedFields).toBeUndefined();
  });

  test('keeps a namesake with another UID when the deletion of the former object comes late', async () => {
    const watch = await listed(pod('a', '3', { uid: 'new' }));
    watch.send('DELETED', pod('a', '11', { uid: 'old' }));
    expect(names(last())).toEqual(['a']);
  });

  test('does not go back when an event is repeated; versions are numbers of any length', async () => {
    const watch = await listed(pod('a', '9'));
    watch.send('MODIFIED', pod('a', '10000000000000000001'));
    watch.send('MODIFIED', pod('a', '10000000000000000000'));
    expect(last().objects?.[0]?.metadata.resourceVersion).toBe('10000000000000000001');
  });

  test('ends with its last subscriber', async () => {
    const watch = await listed();
    subscription.unsubscribe();
    expect(watch.isEnded).toBe(true);
    await clock.advance(0);
    expect([clock.armed, api.lists, api.watches]).toEqual([0, [], []]);
  });

  test('aborts a list under way with its last subscriber', async () => {
    const { options } = await nextList();
    subscription.unsubscribe();
    expect(options.signal?.aborted).toBe(true);
  });
});

describe('the end of a watch', () => {
  test('because its events are not in their order leads to a list after a pause, as one may have been missed', async () => {
    const watch = await listed(pod('a', '3'));
    watch.send('MODIFIED', pod('a', '12'));
    watch.send('ADDED', pod('b', '11'));
    await clock.advance(0);
    expect(last().problem).toBe('cannot watch pods: the events of the watch are not in their order');
    expect([api.lists, api.watches]).toEqual([[], []]);
    await clock.advance(1_000);
    (await nextList()).answer('12', pod('a', '12'), pod('b', '11'));
    await clock.advance(0);
    expect(names(last())).toEqual(['a', 'b']);
  });

  test('by its time leads to another watch from the last version, also that of a bookmark', async () => {
    const watch = await listed(pod('a', '3'));
    watch.send('MODIFIED', pod('a', '12'));
    watch.send('BOOKMARK', bookmark('40'));
    const count = seen.length;
    watch.events.complete();
    const next = await nextWatch();
    expect(next.options.resourceVersion).toBe('40');
    expect(api.lists).toEqual([]);
    expect(seen).toHaveLength(count);
  });

  test('leads to a watch from the newest version, also after a deletion with an old one', async () => {
    const watch = await listed(pod('a', '3'), pod('b', '7'));
    watch.send('DELETED', pod('a', '3'));
    watch.events.complete();
    expect((await nextWatch()).options.resourceVersion).toBe('10');
  });

  test('is asked of the server after 5 to 10 minutes, by chance', async () => {
    chance = 0.999;
    const watch = await listed();
    expect(watch.options.timeoutSeconds).toBe(599);
  });

  test('that is overdue by half a minute is not awaited: the connection may be dead', async () => {
    const watch = await listed(pod('a', '3'));
    await clock.advance(329_999);
    expect(watch.isEnded).toBe(false);
    await clock.advance(1);
    expect(watch.isEnded).toBe(true);
    expect((await nextWatch()).options.resourceVersion).toBe('10');
  });

  test('by a cut after an event leads to another watch at once, without a problem', async () => {
    const watch = await listed(pod('a', '3'));
    watch.send('ADDED', pod('b', '11'));
    watch.events.error(unavailable());
    expect((await nextWatch()).options.resourceVersion).toBe('11');
    expect(last().problem).toBeUndefined();
  });

  test('by a cut before any event leads to a list after a pause: the server may have been restored', async () => {
    const watch = await listed(pod('a', '3'));
    watch.events.error(unavailable());
    await clock.advance(799);
    expect([api.lists, api.watches]).toEqual([[], []]);
    expect(names(last())).toEqual(['a']);
    expect(last().problem).toBe('cannot watch pods: connection refused');
    await clock.advance(1);
    (await nextList()).answer('5');
    await nextWatch();
    expect(last()).toEqual({ objects: [] });
  });

  test('at once and without an event leads to no endless loop of requests', async () => {
    const watch = await listed();
    watch.events.complete();
    await clock.advance(799);
    expect([api.lists, api.watches]).toEqual([[], []]);
    expect(last().problem).toBe('cannot watch pods: the server ends each watch at once');
    await clock.advance(1);
    await nextList();
  });

  test('by 410 Gone leads to a list after a pause, without a problem', async () => {
    const watch = await listed(pod('a', '3'));
    watch.send('ADDED', pod('b', '11'));
    watch.events.error(new ApiError('too old resource version', { status: 410, reason: 'Expired' }));
    await clock.advance(799);
    expect([api.lists, api.watches]).toEqual([[], []]);
    expect(last().problem).toBeUndefined();
    await clock.advance(1);
    (await nextList()).answer('900', pod('b', '11'));
    await nextWatch();
    expect(last()).toMatchObject({ objects: [pod('b', '11')] });
    expect(last().problem).toBeUndefined();
  });

  test('by 429 leads to another watch, after as long as the server asks for', async () => {
    const watch = await listed(pod('a', '3'));
    // A proxy answers without a reason of Kubernetes.
    const status = { status: 429, reason: '', retryAfterMs: 5_000 };
    watch.events.error(new ApiError('too many requests', status));
    await clock.advance(4_999);
    expect(api.watches).toEqual([]);
    await clock.advance(1);
    expect((await nextWatch()).options.resourceVersion).toBe('10');
    expect(api.lists).toEqual([]);
  });

  test('by an event that is none is a failure, not an exception', async () => {
    const watch = await listed(pod('a', '3'));
    watch.events.next(undefined as never);
    await clock.advance(800);
    await nextList();
    expect(names(last())).toEqual(['a']);
  });
});

describe('a list that fails', () => {
  test('is tried again after 0.8 s, doubled up to 30 s, and up to twice that by chance', async () => {
    const delays = [];
    for (const random of [0, 0, 0, 0, 0, 0, 0, 0.5]) {
      chance = random;
      (await nextList()).fail(unavailable());
      await clock.advance(0);
      delays.push(clock.nextInMs);
      await clock.advance(clock.nextInMs ?? 0);
    }
    expect(delays).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 45_000]);
  });

  test('is tried again after 0.8 s again when there was no failure for 2 minutes', async () => {
    for (const delayMs of [800, 1_600]) {
      (await nextList()).fail(unavailable());
      await clock.advance(delayMs);
    }
    const watch = await listed();
    await clock.advance(121_000);
    watch.events.error(unavailable());
    await clock.advance(0);
    expect(clock.nextInMs).toBe(800);
  });

  test('is tried again at once when the server answers other requests again, but not each time', async () => {
    (await nextList()).fail(unavailable());
    await clock.advance(1);
    recovered.next(undefined);
    (await nextList()).fail(unavailable());
    await clock.advance(1);
    recovered.next(undefined);
    await clock.advance(1_598);
    expect(api.lists).toEqual([]);
    await clock.advance(1);
    await nextList();
  });

  test('that the server refused is not tried again before its time', async () => {
    (await nextList()).fail(new ApiError('forbidden', { status: 403, reason: 'Forbidden' }));
    await clock.advance(1);
    recovered.next(undefined);
    await clock.advance(798);
    expect(api.lists).toEqual([]);
    await clock.advance(1);
    await nextList();
  });

  test('logs the problem once, and leaves the set unchanged', async () => {
    for (const delayMs of [800, 1_600]) {
      (await nextList()).fail(unavailable());
      await clock.advance(delayMs);
    }
    expect(seen).toEqual([{ problem: 'cannot list pods: connection refused' }]);
    await listed();
    expect(last()).toEqual({ objects: [] });
  });

  test.each([
    {},
    { kind: 'Pod', metadata: { resourceVersion: '7' } },
    { metadata: {}, items: [] },
    undefined,
  ])('is also an answer that is no list: %j', async (body) => {
    (await nextList()).answerWith(body);
    await clock.advance(0);
    expect(last().objects).toBeUndefined();
    expect(last().problem).toMatch('the answer is not a list of objects');
  });
});
