/** Pods are followed at a server that hangs, answers half, forgets events, comes back from a backup: what is known stays, and is right again. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Subscription } from 'rxjs';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ApiServer } from '../../../../src/agent/cluster/service/api-server.ts';
import { reflect, type Reflection } from '../../../../src/agent/cluster/watches/reflect.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { type DoubleFault, DoubleFaults } from '../../../support/api-server/faults/double-faults.ts';
import type { Fault } from '../../../support/api-server/faults/fault-rules.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { waitFor } from '../../../support/wait-for.ts';

const PODS = { resource: 'pods', namespace: 'default' } as const;
const WATCHES = { verb: 'watch', resource: 'pods' } as const;
const LISTS = { verb: 'list', resource: 'pods' } as const;
const MINUTE_MS = 60_000;
/** The server ends a watch before the client loses its patience. */
const WATCH_MS = 5 * MINUTE_MS;
const PAUSE_MAX_MS = 30_000;
const PAUSES_MS = [800, 1_600, 3_200, 6_400, 12_800, 25_600, PAUSE_MAX_MS, PAUSE_MAX_MS];
const GIB = 1024 ** 3;
const named = (name: string) => ({ ...PODS, name });

/** Fifty virtual milliseconds take some real ones: answers come meanwhile. */
const STEP_MS = 50;

describeOnControlPlane('pods of a server with faults', { programs: 'double' }, (controlPlane) => {
  let faults: DoubleFaults;
  let clock: VirtualClock;
  let admin: ApiServer;
  let node: ApiServer;
  let following: Subscription | undefined;
  let seen: Reflection<Pod>[];
  const closing: (() => void)[] = [];

  function clientOf(user: 'admin' | 'node', ownClock?: VirtualClock): ApiServer {
    const options = { userAgent: 'statelet/test', ...(ownClock && { clock: ownClock }) };
    const credentials = new FixedCredentials(controlPlane.details(user));
    const clients = openApiClients(credentials, new ObservedConnection(), options);
    closing.push(clients.close);
    return clients.main;
  }

  beforeEach(async () => {
    faults = await new DoubleFaults(controlPlane).open();
    clock = new VirtualClock(Date.now());
    admin = clientOf('admin');
    node = clientOf('node', clock);
    seen = [];
    await create('a');
    await create('b');
    follow();
    await become(['a', 'b']);
  });
  afterEach(async () => {
    following?.unsubscribe();
    const { items } = await admin.list<Pod>(PODS);
    for (const { metadata } of items) await remove(metadata.name);
    for (const close of closing.splice(0)) close();
    faults.close();
  });

  function follow(): void {
    const options = { fieldSelector: 'spec.nodeName=node-1', clock, random: () => 0 };
    following = reflect<Pod>(node, { resource: 'pods' }, options).subscribe((next) => seen.push(next));
  }

  const create = (name: string) =>
    admin.create(PODS, {
      metadata: { name },
      spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'x' }] },
    });
  const remove = (name: string) => admin.delete(named(name), { gracePeriodSeconds: 0 });
  const label = (name: string, step: string) => admin.patch(named(name), { metadata: { labels: { step } } });

  const last = () => seen.at(-1) ?? {};
  const known = () =>
    (last().objects ?? []).map(({ metadata: { name, labels } }) => name + (labels?.step ?? '')).sort();
  const problems = () => seen.flatMap(({ problem }) => problem ?? []);

  /** Lets time pass until it is so. */
  async function passUntil(
    what: string,
    isSo: () => boolean | Promise<boolean>,
    stepMs = STEP_MS,
  ): Promise<void> {
    const check = async () => {
      if (await isSo()) return true;
      await clock.advance(stepMs);
      return false;
    };
    await waitFor(check, { what, pauseMs: 2 });
  }

  /** The pods are known as they are, and there is no problem any more. */
  async function become(pods: readonly string[], stepMs = STEP_MS): Promise<void> {
    const isSo = () => last().problem === undefined && known().join() === pods.join();
    await passUntil(`${pods.join()} to be known`, isSo, stepMs).catch((error: unknown) => {
      throw new Error(`${String(error)}: known are ${known().join()}, ${last().problem}`, { cause: error });
    });
  }

  /** The head of a watch has come: only its end is waited for. */
  const isWatching = () => passUntil('a watch', () => (clock.nextInMs ?? 0) > MINUTE_MS, 0);

  /** The pauses after requests that fail at once. While a list is under way, there is a timer of a minute. */
  async function pauses(count: number): Promise<readonly number[]> {
    const all: number[] = [];
    while (all.length < count) {
      await passUntil('a pause', () => clock.armed === 1 && (clock.nextInMs ?? Infinity) <= PAUSE_MAX_MS, 0);
      const pauseMs = clock.nextInMs ?? 0;
      all.push(pauseMs);
      await clock.advance(pauseMs);
    }
    return all;
  }

  /** A server that takes time is not asked all the time. */
  async function isAskedSeldom(failing: DoubleFault): Promise<void> {
    await passUntil('requests that fail', () => failing.hits >= 3, 2_000);
    const [begun, hits] = [clock.now(), failing.hits];
    await passUntil('some time', () => clock.now() - begun > 2 * MINUTE_MS, 2_000);
    expect(failing.hits - hits).toBeLessThan(70);
  }

  async function isAskedLessAndLess(failing: DoubleFault): Promise<void> {
    const { kind } = failing.fault;
    if (kind === 'hang' || JSON.stringify(failing.fault).includes('retry-after'))
      await isAskedSeldom(failing);
    else if (kind === 'giant') expect(await pauses(2)).toEqual(PAUSES_MS.slice(0, 2));
    else {
      expect(await pauses(PAUSES_MS.length)).toEqual(PAUSES_MS);
      // The next one may be under way.
      expect(failing.hits).toBeLessThanOrEqual(PAUSES_MS.length + 1);
    }
  }

  /** Nothing that was known has disappeared at any time. */
  const nothingDisappeared = () =>
    expect(seen.filter(({ objects }) => (objects?.length ?? 2) < 2)).toEqual([]);

  test('a watch that falls silent is started again after its time, and missed events are known then', async () => {
    const silence = await faults.add({ resource: 'pods', times: 1 }, { kind: 'silence' });
    await label('a', '1');
    await silence.wasHit();
    await label('b', '2');
    await isWatching();
    await clock.advance(clock.nextInMs ?? 0);
    await become(['a1', 'b2']);
    expect(problems()).toEqual([]);
    nothingDisappeared();
  });

  test.each<[string, Fault]>([
    ['never answers', { kind: 'hang' }],
    ['answers the head and no body', { kind: 'hang', after: 'head' }],
    ['ends the answer in the middle', { kind: 'half', how: 'end' }],
    ['ends the answer before the length that it told', { kind: 'half', how: 'length' }],
    ['breaks the connection in the middle, without a word of TLS', { kind: 'half', how: 'break' }],
    ['breaks the connection instead of an answer', { kind: 'lose' }],
    ['answers 500', { kind: 'answer', code: 500 }],
    ['answers 503', { kind: 'answer', code: 503, headers: { 'retry-after': '1' } }],
    ['answers 504', { kind: 'answer', code: 504 }],
    ['answers 429', { kind: 'answer', code: 429, headers: { 'retry-after': '1' } }],
    [
      'wants to be asked again in years',
      { kind: 'answer', code: 429, headers: { 'retry-after': '99999999' } },
    ],
    ['leads elsewhere', { kind: 'answer', code: 302, headers: { location: 'https://login.test/' } }],
    [
      'is a proxy that answers with a page',
      { kind: 'answer', code: 200, headers: { 'content-type': 'text/html' }, body: '<html>Sign in</html>' },
    ],
    ['is a proxy that knows no such page', { kind: 'answer', code: 404, body: '<html>404</html>' }],
    ['answers JSON that is no list', { kind: 'answer', code: 200, body: '{"items":[]}' }],
    ['answers without an end', { kind: 'giant', bytes: 2 * GIB }],
  ])(
    'a server that %s when it is to list: the pods stay known, and are right when it lists again',
    async (_, fault) => {
      const failing = await faults.add(LISTS, fault);
      // The watch has to begin anew with a list.
      await faults.compact();
      await isWatching();
      await faults.tell(WATCHES, EXPIRED);
      await isAskedLessAndLess(failing);
      expect(known()).toEqual(['a', 'b']);
      expect(last().problem).toMatch(/^cannot list pods: /);
      await failing.lift();
      await label('a', '1');
      await become(['a1', 'b'], 1_000);
      nothingDisappeared();
    },
  );

  test.each<[string, Fault]>([
    ['never answers', { kind: 'hang' }],
    ['answers 500', { kind: 'answer', code: 500 }],
    ['answers 503', { kind: 'answer', code: 503 }],
    ['answers 410', { kind: 'answer', code: 410 }],
    ['ends each watch at once', { kind: 'answer', code: 200 }],
    ['answers with a page', { kind: 'answer', code: 200, body: '<html>Sign in</html>\n' }],
    ['leads elsewhere', { kind: 'answer', code: 307, headers: { location: 'https://login.test/' } }],
    ['tells one event without an end', { kind: 'giant', bytes: 2 * GIB }],
  ])(
    'a server that %s when it is to be watched is asked again and again, less and less often',
    async (_, fault) => {
      const failing = await faults.add(WATCHES, fault);
      await faults.endWatches(WATCHES);
      await isAskedLessAndLess(failing);
      await failing.lift();
      await label('a', '1');
      await become(['a1', 'b'], 1_000);
      nothingDisappeared();
    },
  );

  test.each(['end', 'break'] as const)(
    'a watch that is cut within an event is started again (%s)',
    async (how) => {
      const cut = await faults.add({ resource: 'pods', times: 1 }, { kind: 'cut', how });
      await label('a', '1');
      await cut.wasHit();
      await become(['a1', 'b']);
      nothingDisappeared();
    },
  );

  test.each<[string, (name: string) => Promise<unknown>, readonly string[]]>([
    ['a change', (name) => label(name, '1'), ['a1', 'b1']],
    ['a deletion', remove, ['b1']],
  ])('%s that the server forgot to send is known after an hour and a watch', async (_, change, after) => {
    const forgotten = await faults.add({ resource: 'pods', name: 'a' }, { kind: 'forget' });
    await change('a');
    await forgotten.wasHit();
    await label('b', '1');
    await become(['a', 'b1']);
    let watches = 0;
    while (known().join() !== after.join()) {
      await isWatching();
      expect((watches += 1)).toBeLessThan(15);
      await clock.advance(WATCH_MS);
      await faults.endWatches(WATCHES);
    }
    expect(problems()).toEqual([]);
  });

  test('events that come twice change nothing', async () => {
    const twice = await faults.add({ resource: 'pods' }, { kind: 'twice' });
    await label('a', '1');
    await remove('b');
    await create('c');
    await become(['a1', 'c']);
    expect(twice.hits).toBeGreaterThanOrEqual(3);
  });

  test('events in the wrong order make no pod go back, and none come back', async () => {
    const swapNext = () => faults.add({ resource: 'pods', event: 'MODIFIED', times: 1 }, { kind: 'swap' });
    await swapNext();
    await label('a', '1');
    await label('a', '2');
    await become(['a2', 'b']);
    // Its last change comes after its end.
    await swapNext();
    await remove('b');
    await become(['a2']);
    await create('c');
    await become(['a2', 'c']);
  });

  test('a bookmark of a version that is not there yet leads to a list, without a wait', async () => {
    await isWatching();
    const metadata = { resourceVersion: '1000000' };
    await faults.tell(WATCHES, { type: 'BOOKMARK', object: { kind: 'Pod', apiVersion: 'v1', metadata } });
    await label('a', '1');
    await become(['a1', 'b']);
    const tooNew = () => faults.seen('GET', /watch=true.*resourceVersion=1000000/);
    await faults.endWatches(WATCHES);
    await passUntil('a watch of that version', async () => (await tooNew()).length > 0);
    const begun = clock.now();
    await label('a', '2');
    await become(['a2', 'b']);
    expect(await tooNew()).toHaveLength(1);
    expect(clock.now() - begun).toBeLessThan(10_000);
    nothingDisappeared();
  });

  test('an answer that comes slowly is read to its end', async () => {
    following?.unsubscribe();
    seen = [];
    const drip = await faults.add(LISTS, { kind: 'drip', bytes: 200, everyMs: 1 });
    follow();
    await passUntil('the whole list', () => known().length === 2);
    expect(drip.hits).toBe(1);
    expect(problems()).toEqual([]);
  });

  test('after a server comes back with an older state, or with none, its objects are listed again', async () => {
    const restore = faults.backUp();
    await label('a', '1');
    await create('c');
    for (let step = 0; step < 5; step += 1) await label('b', String(step));
    await become(['a1', 'b4', 'c']);
    await restore();
    await become(['a', 'b']);
    await label('a', '2');
    await become(['a2', 'b']);
    await faults.empty();
    await become([]);
    await create('d');
    await become(['d']);
  });
});

const EXPIRED = {
  type: 'ERROR',
  object: {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'Expired',
    code: 410,
    message: 'too old',
  },
};
