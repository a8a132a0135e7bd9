import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { BehaviorSubject, type Subscription } from 'rxjs';
import type { WatchedObject } from '../../../src/agent/cluster/watches/watched-object.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { apiPod, apiSource } from '../../../src/agent/sources/api-source.ts';
import { podConfig, type PodConfigEvent } from '../../../src/agent/sources/pod-config.ts';
import { problemText, type SourceUpdate } from '../../../src/agent/sources/source.ts';
import { StateletError } from '../../../src/types/errors.ts';
import type { Node, Pod } from '../../../src/types/kubernetes.ts';
import { CountedReads } from '../../support/counted-work.ts';
import { ScriptedApi, type WatchCall } from '../../support/scripted-api.ts';

let clock: VirtualClock;
let api: ScriptedApi;
let node: BehaviorSubject<WatchedObject<Node>>;
let updates: SourceUpdate[];
let subscription: Subscription;

const source = () => apiSource({ api, nodeName: 'node-1', node, clock, random: () => 0 });

beforeEach(() => {
  clock = new VirtualClock();
  api = new ScriptedApi();
  node = new BehaviorSubject<WatchedObject<Node>>({ isKnown: true });
  updates = [];
});
afterEach(() => subscription.unsubscribe());

function follow(): void {
  subscription = source().subscribe((update) => updates.push(update));
}
async function listed(...pods: readonly object[]): Promise<WatchCall> {
  await clock.advance(0);
  api.lists.shift()?.answer('10', ...pods);
  await clock.advance(0);
  const watch = api.watches.shift();
  if (!watch) throw new Error('no watch was begun');
  return watch;
}
const pod = (name: string, uid: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { namespace: 'shop', name, uid, resourceVersion: '5', ...metadata },
  spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'web:1' }], ...spec },
});
const last = (): SourceUpdate => updates.at(-1) ?? { problems: [] };
const uids = () => last().pods?.map(({ metadata }) => metadata.uid);
const problems = () => last().problems.map(problemText);

describe('the source api', () => {
  test('looks at no other pod when one has changed', async () => {
    const readsOf = async (count: number) => {
      const reads = new CountedReads();
      follow();
      const objects = Array.from({ length: count }, (_, index) => pod(`pod-${index}`, `u-${index}`));
      const watch = await listed(...reads.of(objects));
      reads.reads = 0;
      watch.send('MODIFIED', pod('pod-5', 'u-5', {}, { resourceVersion: '11' }));
      expect(uids()).toHaveLength(count);
      subscription.unsubscribe();
      return reads.reads;
    };
    expect(await readsOf(1000)).toBe(await readsOf(10));
  });

  test('asks for the pods of this node once the server has said whether the node exists', async () => {
    node.next({ isKnown: false });
    follow();
    node.next({ isKnown: false, problem: 'cannot list nodes: connection refused' });
    expect(updates).toEqual([
      { problems: [] },
      { problems: [{ source: 'api', message: 'cannot list nodes: connection refused' }] },
    ]);
    expect(api.lists).toEqual([]);
    node.next({ isKnown: true });
    expect(api.lists[0]?.options.fieldSelector).toBe('spec.nodeName=node-1');
    await listed(pod('a', 'u-a'));
    expect(uids()).toEqual(['u-a']);
    expect(problems()).toEqual([]);
  });

  test('goes on when the node object is gone', async () => {
    follow();
    const watch = await listed(pod('a', 'u-a'));
    node.next({ isKnown: true, object: { metadata: { name: 'node-1' } } });
    node.next({ isKnown: true });
    watch.send('ADDED', pod('b', 'u-b', {}, { resourceVersion: '11' }));
    expect(uids()).toEqual(['u-a', 'u-b']);
  });

  test('keeps its pods and takes no others while the node object is of another machine', async () => {
    follow();
    const watch = await listed(pod('a', 'u-a'));
    const problem = 'the Node object is of another machine';
    node.next({ isKnown: false, problem });
    watch.send('ADDED', pod('b', 'u-b', {}, { resourceVersion: '11' }));
    expect(last()).toEqual({ problems: [{ source: 'api', message: problem }] });
    node.next({ isKnown: true });
    await listed(pod('c', 'u-c'));
    expect(uids()).toEqual(['u-c']);
  });

  test('keeps its pods while the server does not answer', async () => {
    follow();
    const watch = await listed(pod('a', 'u-a'));
    watch.events.error(new StateletError('Unavailable', 'connection refused'));
    await clock.advance(800);
    api.lists.shift()?.fail(new StateletError('Unavailable', 'connection refused'));
    await clock.advance(0);
    expect(uids()).toEqual(['u-a']);
    expect(problems()).toEqual(['cannot list pods: connection refused']);
  });

  test('passes a pod that does not hold on to be rejected, beside pods that hold', async () => {
    follow();
    await listed(pod('a', 'u-a'), pod('b', 'u-b', { containers: [] }));
    expect(uids()).toEqual(['u-a', 'u-b']);
    expect(last().pods?.[1]?.metadata.annotations).toEqual({
      'statelet.dev/invalid': 'spec.containers: must have at least 1 item',
    });
    expect(problems()).toEqual(['pod shop/b: spec.containers: must have at least 1 item']);
  });

  test('leaves out what has no usable name, and says so', async () => {
    follow();
    await listed(pod('a', 'u-a'), pod('b', 'u-b', {}, { uid: 'a/b' }), { spec: {} });
    expect(uids()).toEqual(['u-a']);
    expect(problems().join('\n')).toMatch(/pod shop\/b: metadata\.uid: must be[^]*metadata: is required/);
  });

  test('keeps the spec of a pod whose update does not hold', async () => {
    follow();
    const watch = await listed(pod('a', 'u-a'));
    watch.send('MODIFIED', pod('a', 'u-a', { containers: [] }));
    watch.send('MODIFIED', pod('a', 'u-a', { containers: [] }, { labels: { x: 'y' } }));
    expect(last().pods?.[0]?.spec.containers).toHaveLength(1);
    expect(last().pods?.[0]?.metadata.labels).toEqual({ x: 'y' });
  });

  test('ignores pods of other nodes, also where the server does not select', async () => {
    follow();
    await listed(pod('a', 'u-a'), pod('b', 'u-b', { nodeName: 'node-2' }));
    expect(uids()).toEqual(['u-a']);
  });
});

describe('the channel of pods', () => {
  let events: PodConfigEvent[];
  const briefly = () =>
    events.map((event) =>
      'type' in event
        ? event.type
        : `${event.op} ${event.pods.map(({ metadata }) => metadata.uid).join(' ')}`,
    );

  beforeEach(() => {
    events = [];
    const options = { now: () => clock.now(), onProblem: () => undefined };
    subscription = podConfig({ api: source() }, options).subscribe((event) => events.push(event));
  });

  test('says that the source was seen after the first list, also an empty one', async () => {
    await listed();
    expect(briefly()).toEqual(['SOURCE_SEEN']);
  });

  test('removes and adds a pod that was deleted and created anew under its name between two looks', async () => {
    const watch = await listed(pod('a', 'u-1'));
    watch.events.error(new StateletError('Unavailable', 'connection refused'));
    await clock.advance(800);
    await listed(pod('a', 'u-2'));
    expect(briefly()).toEqual(['ADD u-1', 'SOURCE_SEEN', 'REMOVE u-1', 'ADD u-2']);
  });

  test('marks the pods as those of the API, also mirror pods', async () => {
    const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.mirror': 'hash' };
    await listed(pod('a', 'u-1', {}, { annotations }));
    const [event] = events;
    expect(event && 'pods' in event ? event.pods[0]?.metadata.annotations : undefined).toMatchObject({
      'kubernetes.io/config.source': 'api',
      'kubernetes.io/config.mirror': 'hash',
    });
  });

  test('emits the deletion, a new status and the end of a pod', async () => {
    const watch = await listed(pod('a', 'u-1'));
    watch.send('MODIFIED', { ...pod('a', 'u-1'), status: { phase: 'Running' } });
    const deleted = pod('a', 'u-1', {}, { deletionTimestamp: '2030-01-01T00:00:00Z' });
    watch.send('MODIFIED', deleted);
    watch.send('DELETED', deleted);
    expect(briefly().slice(2)).toEqual(['RECONCILE u-1', 'DELETE u-1', 'REMOVE u-1']);
  });
});

const MARK = 'statelet.dev/invalid';

function checkedPod(more: { metadata?: object; spec?: object; status?: object } = {}): object {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u-1', ...more.metadata },
    spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'web:1' }], ...more.spec },
    ...(more.status && { status: more.status }),
  };
}

const texts = (object: unknown, before?: Pod) => apiPod(object, before).problems.map(problemText);

/** A pod that holds. */
const held = (object: object = checkedPod()) => apiPod(object).pod!;

describe('a pod that holds', () => {
  test('is taken as it is, with the kind that the items of a list lack', () => {
    expect(apiPod(checkedPod())).toEqual({
      pod: { apiVersion: 'v1', kind: 'Pod', ...checkedPod() },
      problems: [],
    });
  });

  test('loses its nulls: the API server writes them for what is not set', () => {
    const conditions = [{ type: 'Ready', status: 'True', lastProbeTime: null }];
    expect(held(checkedPod({ status: { conditions } })).status).toEqual({
      conditions: [{ type: 'Ready', status: 'True' }],
    });
  });

  test.each([
    ['an unknown field', { spec: { futureField: { a: 1 } } }],
    ['an unknown choice', { spec: { dnsPolicy: 'FromTheFuture', restartPolicy: 'Sometimes' } }],
    ['a label that only a newer server accepts', { metadata: { labels: { 'a b': '!' } } }],
    ['a reference to an object of the API', { spec: { serviceAccountName: 'default' } }],
    ['an ephemeral container', { spec: { ephemeralContainers: [{ name: 'debug', image: 'x' }] } }],
  ])('may have %s: the API server has validated it', (_what, more) => {
    expect(texts(checkedPod(more))).toEqual([]);
  });

  test('cannot say by itself that it does not hold', () => {
    const annotations = { [MARK]: 'a trick', other: 'x' };
    expect(held(checkedPod({ metadata: { annotations } })).metadata.annotations).toEqual({ other: 'x' });
  });
});

describe('a pod that does not hold', () => {
  test.each([
    ['spec.containers: is required', { containers: undefined }],
    ['spec.containers: must have at least 1 item', { containers: [] }],
    ['spec.containers: must be array', { containers: { name: 'main' } }],
    ['spec.containers[0].name: is required', { containers: [{ image: 'x' }] }],
    ['spec.containers[0].name: must be a DNS label', { containers: [{ name: '../../etc' }] }],
    ['spec.volumes[0].name: must be a DNS label', { volumes: [{ name: '..', emptyDir: {} }] }],
    ['spec.containers[1].name: is already used', { containers: [{ name: 'a' }, { name: 'a' }] }],
    [
      'spec.containers[0].resources.limits.cpu: must be a quantity',
      { containers: [{ name: 'a', resources: { limits: { cpu: 'lots' } } }] },
    ],
    ['spec.terminationGracePeriodSeconds: must be', { terminationGracePeriodSeconds: 'long' }],
  ])('is told by its field: %s', (message, spec) => {
    const { pod: marked, problems } = apiPod(checkedPod({ spec }));
    expect(problems.map(problemText).join('\n')).toContain(message);
    expect(marked?.spec).toEqual({ containers: [] });
    expect(marked?.metadata.annotations?.[MARK]).toContain(message);
  });

  test('keeps its identity, its deletion and its phase, so that its end can be reported', () => {
    const metadata = { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 };
    const broken = apiPod(
      checkedPod({ metadata, spec: { containers: [] }, status: { phase: 'Failed' } }),
    ).pod;
    expect(broken?.metadata).toMatchObject({ name: 'web', namespace: 'shop', uid: 'u-1', ...metadata });
    expect(broken?.status).toEqual({ phase: 'Failed' });
  });

  test('keeps the spec that held before: a broken update ends nothing', () => {
    const metadata = { labels: { a: 'b' }, deletionTimestamp: '2030-01-01T00:00:00Z' };
    const update = apiPod(checkedPod({ metadata, spec: { containers: [] } }), held());
    expect(update.pod?.spec).toEqual(held().spec);
    expect(update.pod?.metadata).toMatchObject(metadata);
    expect(update.pod?.metadata.annotations?.[MARK]).toBeUndefined();
    expect(update.problems).toHaveLength(1);
  });

  test('stays rejected after another broken update, and is as it should be after a good one', () => {
    const broken = apiPod(checkedPod({ spec: { containers: [] } })).pod;
    expect(
      apiPod(checkedPod({ spec: { containers: [] } }), broken).pod?.metadata.annotations?.[MARK],
    ).toBeDefined();
    expect(apiPod(checkedPod(), broken).pod).toEqual(held());
  });

  test('with a field of metadata that cannot be used loses that field', () => {
    const broken = apiPod(checkedPod({ metadata: { annotations: { a: 1 }, labels: { x: 'y' } } })).pod;
    expect(broken?.metadata.annotations).toEqual({ [MARK]: expect.stringContaining('metadata.annotations') });
    expect(broken?.metadata.labels).toEqual({ x: 'y' });
  });

  test('with nothing but a broken status is run without that status', () => {
    const { pod: usable, problems } = apiPod(checkedPod({ status: { conditions: 'none' } }));
    expect(usable).toEqual(held());
    expect(problems).toHaveLength(1);
  });

  test.each([
    ['no object', 'pod', 'must be a pod (got a text)'],
    ['nothing', undefined, 'must be a pod (got nothing)'],
    ['no metadata', { spec: {} }, 'metadata: is required'],
    ['no UID', checkedPod({ metadata: { uid: undefined } }), 'metadata.uid: is required'],
    [
      'a name that is a path',
      checkedPod({ metadata: { name: '../x' } }),
      'metadata.name: must be a DNS name',
    ],
  ])('and has %s cannot even be rejected: it is left out', (_what, object, message) => {
    expect(apiPod(object).pod).toBeUndefined();
    expect(texts(object).join('\n')).toContain(message);
  });

  test('is refused without an exception where it is nested too deep', () => {
    let value: object = {};
    for (let depth = 0; depth < 200; depth += 1) value = { value };
    expect(texts(checkedPod({ spec: value }))).toEqual(['is nested deeper than 100 levels']);
  });
});
