/** The strategy Watch, before an API server that a test answers by hand. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import { ServerObjects } from '../../../../src/agent/cluster/objects/server-objects.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { noAnswer, refusal } from '../../../support/answering-api.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { type ListCall, ScriptedApi, type WatchCall } from '../../../support/scripted-api.ts';
import { testContext } from '../../../support/test-context.ts';

const SYNC_FREQUENCY_MS = 60_000;
const MAYBE = '"ns"/"shared"';

const object = (version: number, fields: object = {}) => ({
  metadata: {
    name: 'shared',
    namespace: 'ns',
    uid: 'u-shared',
    resourceVersion: String(version),
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"key":"…"}}' },
  },
  data: { key: `value ${version}` },
  ...fields,
});
/** A pod with variables from these ConfigMaps. */
const pod = (uid: string, ...names: readonly string[]): Pod => ({
  metadata: { name: uid, namespace: 'ns', uid },
  spec: { containers: [{ name: 'main', envFrom: names.map((name) => ({ configMapRef: { name } })) }] },
});

let clock: VirtualClock;
let api: ScriptedApi;
let objects: ServerObjects;
let changed: string[];
let recovered: Subject<undefined>;
let log: ReturnType<typeof recordingLogger>;

beforeEach(() => {
  clock = new VirtualClock();
  api = new ScriptedApi();
  changed = [];
  recovered = new Subject();
  log = recordingLogger();
  let chance = 0;
  const random = () => (chance = (chance + 0.1) % 1);
  const context = { ...testContext({ clock, random, logger: log.logger }), recovered };
  objects = new ServerObjects(context, { api, syncFrequencyMs: SYNC_FREQUENCY_MS });
  objects.changes.subscribe((uid) => changed.push(uid));
  // That of the services, which these tests do not look at.
  api.lists.shift();
});
afterEach(() => objects.close());

const read = async () => (await objects.configMap('ns', 'shared'))?.data?.key;
/** What the pods hear of, since this was last asked. */
const told = () => changed.splice(0);
const watches = () => api.watches.filter(({ isEnded }) => !isEnded);
const list = (): ListCall => here(api.lists.shift(), 'no list is asked for');
const watch = (): WatchCall => here(watches()[0], 'nothing is watched');

function here<T>(value: T | undefined, problem: string): T {
  if (value === undefined) throw new Error(problem);
  return value;
}

/** Some pods refer to the object, and have read it. */
async function registered(version: number, ...uids: readonly string[]): Promise<void> {
  for (const uid of uids) objects.registerPod(pod(uid, 'shared'));
  const reads = uids.map(() => read());
  list().answer(String(version), object(version));
  await clock.advance(0);
  expect(await Promise.all(reads)).toEqual(uids.map(() => `value ${version}`));
}

test('a hundred pods that refer to one object share one list and one watch, until the last is forgotten', async () => {
  const uids = Array.from({ length: 100 }, (_, index) => `pod-${index}`);
  await registered(5, ...uids);
  expect(api.lists).toEqual([]);
  expect(watches()).toMatchObject([
    {
      collection: { resource: 'configmaps', namespace: 'ns' },
      options: { fieldSelector: 'metadata.name=shared', resourceVersion: '5' },
    },
  ]);
  const [last = '', ...others] = uids;
  for (const uid of others) objects.forgetPod(uid);
  expect(await read()).toBe('value 5');
  objects.forgetPod(last);
  expect(watches()).toEqual([]);
  await expect(read()).rejects.toThrow(`object ${MAYBE} not registered`);
});

test('a watch lasts half an hour at least, and ends only when no pod refers to the object', async () => {
  await registered(5, 'a', 'b');
  expect(watch().options.timeoutSeconds).toBeGreaterThanOrEqual(1_800);
  objects.registerPod(pod('a', 'other'));
  expect(api.lists.shift()?.options.fieldSelector).toBe('metadata.name=other');
  expect(await read()).toBe('value 5');
  objects.registerPod(pod('b'));
  expect(watches()).toEqual([]);
});

test('only the contents are kept: annotations may have a copy of them', async () => {
  await registered(5, 'a');
  const { metadata } = (await objects.configMap('ns', 'shared')) ?? {};
  expect(metadata).toEqual({ name: 'shared', namespace: 'ns', uid: 'u-shared', resourceVersion: '5' });
});

test('the type of a Secret is kept: by it a pull knows the form of its credentials', async () => {
  const spec = { containers: [], imagePullSecrets: [{ name: 'shared' }] };
  objects.registerPod({ metadata: { name: 'a', namespace: 'ns', uid: 'a' }, spec });
  const reading = objects.secret('ns', 'shared');
  list().answer('5', object(5, { type: 'kubernetes.io/dockerconfigjson' }));
  expect((await reading)?.type).toBe('kubernetes.io/dockerconfigjson');
});

describe('a change', () => {
  test('goes to exactly the pods that refer to the object', async () => {
    await registered(5, 'a', 'b');
    objects.registerPod(pod('c', 'other'));
    expect(told()).toEqual([]);
    watch().send('MODIFIED', object(6));
    expect(told()).toEqual(['a', 'b']);
    expect(await read()).toBe('value 6');
  });

  test('comes when an object appears that a pod waits for, and when it is deleted', async () => {
    objects.registerPod(pod('a', 'shared'));
    const first = read();
    list().answer('5');
    await clock.advance(0);
    expect(await first).toBeUndefined();
    expect(told()).toEqual([]);
    watch().send('ADDED', object(6));
    expect(told()).toEqual(['a']);
    expect(await read()).toBe('value 6');
    await clock.advance(60_000);
    watch().send('DELETED', object(6));
    expect(told()).toEqual(['a']);
    expect(await read()).toBeUndefined();
  });

  test('does not go to a pod that has not read the object yet', async () => {
    objects.registerPod(pod('a', 'shared'));
    list().answer('5', object(5));
    await clock.advance(0);
    watch().send('MODIFIED', object(6));
    expect(told()).toEqual([]);
    expect(await read()).toBe('value 6');
  });

  test('that concerns many pods is spread over turns of the event loop', async () => {
    await registered(5, ...Array.from({ length: 60 }, (_, index) => `pod-${index}`));
    watch().send('MODIFIED', object(6));
    expect(told()).toHaveLength(25);
    await clock.advance(0);
    expect(told()).toHaveLength(35);
  });

  test('comes less and less often while an object changes all the time, and the last one always comes', async () => {
    await registered(1, 'a');
    let version = 1;
    for (let step = 0; step < 6_000; step += 1) {
      watch().send('MODIFIED', object((version += 1)));
      await read();
      await clock.advance(10);
    }
    const times = told().length;
    expect(times).toBeGreaterThan(5);
    expect(times).toBeLessThan(12);
    watch().send('MODIFIED', object((version += 1)));
    await clock.advance(10_000);
    expect(told()).toEqual(['a']);
    await clock.advance(60_000);
    watch().send('MODIFIED', object(version + 1));
    expect(told()).toEqual(['a']);
  });
});

describe('an object that does not change any more', () => {
  test('is not watched once it has been read, and stays known', async () => {
    objects.registerPod(pod('a', 'shared'));
    const first = read();
    list().answer('5', object(5, { immutable: true }));
    await clock.advance(0);
    expect(await first).toBe('value 5');
    expect(watches()).toEqual([]);
    await clock.advance(20 * SYNC_FREQUENCY_MS);
    expect(await read()).toBe('value 5');
    expect(api.lists).toEqual([]);
  });

  test('may become so while it is watched', async () => {
    await registered(5, 'a');
    watch().send('MODIFIED', object(6, { immutable: true }));
    expect(watches()).toHaveLength(1);
    expect(await read()).toBe('value 6');
    expect(watches()).toEqual([]);
  });
});

test('the watch of an object that is not read for five sync periods ends, until the next read', async () => {
  await registered(5, 'a');
  await clock.advance(5 * SYNC_FREQUENCY_MS);
  expect(watches()).toHaveLength(1);
  await clock.advance(SYNC_FREQUENCY_MS);
  expect(watches()).toEqual([]);
  const again = read();
  list().answer('9', object(9));
  await clock.advance(0);
  expect(await again).toBe('value 9');
  expect(watches()).toHaveLength(1);
  expect(told()).toEqual([]);
});

describe('a server that does not answer', () => {
  const TIMED_OUT = 'failed to sync configmap cache: timed out waiting for the condition';

  test('delays the pod for a second at most, and the pod goes on as soon as the answer comes', async () => {
    objects.registerPod(pod('a', 'shared'));
    const inTime = read();
    await clock.advance(999);
    list().answer('5', object(5));
    await clock.advance(0);
    expect(await inTime).toBe('value 5');
    objects.registerPod(pod('b', 'other'));
    const late = expect(objects.configMap('ns', 'other')).rejects.toThrow(TIMED_OUT);
    await clock.advance(1_000);
    await late;
    list().answer('6');
    await clock.advance(0);
    expect(told()).toEqual(['b']);
  });

  test('is named in the log, once, when a pod waits in vain', async () => {
    objects.registerPod(pod('a', 'shared'));
    const refuse = async () => {
      const refused = expect(read()).rejects.toThrow(TIMED_OUT);
      api.lists.splice(0).forEach((call) => call.fail(refusal('InternalError')));
      await clock.advance(1_000);
      await refused;
    };
    await refuse();
    await refuse();
    expect(log.lines).toEqual([
      {
        level: 'warn',
        message: 'A pod waits for configmap ns/shared: cannot list configmaps: refused: InternalError',
      },
    ]);
  });

  test('leaves what was read before unchanged', async () => {
    await registered(5, 'a');
    watch().events.error(noAnswer());
    await clock.advance(2 * SYNC_FREQUENCY_MS);
    expect(await read()).toBe('value 5');
    expect(told()).toEqual([]);
  });
});

test('a request that the server forbids right after the binding is repeated', async () => {
  objects.registerPod(pod('a', 'shared'));
  const first = read();
  list().fail(refusal('Forbidden'));
  await clock.advance(100);
  list().fail(refusal('Forbidden'));
  await clock.advance(300);
  list().answer('5', object(5));
  await clock.advance(0);
  expect(await first).toBe('value 5');
});

test('after an outage, objects are listed at different times, and few at once', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `object-${index}`);
  objects.registerPod(pod('a', ...names));
  expect(api.lists).toHaveLength(16);
  // Each list that ends makes room for the next.
  for (let left = names.length; left > 0; left -= 1) {
    list().fail(noAnswer());
    await clock.advance(0);
  }
  // They wait longer and longer.
  for (let minute = 0; minute < 5; minute += 1) {
    await clock.advance(60_000);
    while (api.lists.length > 0) {
      list().fail(noAnswer());
      await clock.advance(0);
    }
  }
  recovered.next(undefined);
  expect(api.lists).toEqual([]);
  const counts: number[] = [];
  for (let second = 0; second < 10; second += 1) {
    await clock.advance(1_000);
    counts.push(api.lists.length);
    while (api.lists.length > 0) {
      list().answer('5');
      await clock.advance(0);
    }
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(16);
  expect(counts.filter((count) => count > 0).length).toBeGreaterThan(5);
  expect(watches()).toHaveLength(100);
});

test('no request or timer is left after the end', async () => {
  await registered(5, 'a');
  objects.registerPod(pod('b', 'other'));
  objects.close();
  expect(watches()).toEqual([]);
  expect(api.lists.splice(0).map(({ options }) => options.signal?.aborted)).toEqual([true]);
  expect(clock.nextInMs).toBeUndefined();
});
