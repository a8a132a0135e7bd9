import { describe, expect, test } from '@jest/globals';
import type { ApiObject } from '../../../src/agent/cluster/service/api-server.ts';
import { type ApiFaults, NO_API_FAULTS } from '../../../src/simulation/api/api-faults.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { ApiBed, apiPod, NODE, podAt, pods, refusalOf, statusOf, Watched } from './api-bed.ts';
import { holdsTheContract } from './api-contract.ts';
import { holdsTheContractOfContents } from './content-contract.ts';

const OWN = `spec.nodeName=${NODE}`;
const ALL_PODS = { resource: 'pods' } as const;

describe('the contract', () => {
  holdsTheContract(() => new ApiBed());
  holdsTheContractOfContents(() => new ApiBed());
});

describe('a watch', () => {
  test('has the changes after its version, in their order', async () => {
    const bed = new ApiBed();
    const before = bed.server.store.version;
    bed.server.operations.create(pods, apiPod('web'));
    bed.server.operations.create(pods, apiPod('other', { nodeName: 'node-2' }));
    const watched = new Watched(bed.node, ALL_PODS, String(before), OWN);
    await bed.clock.advance(100);
    bed.server.operations.patch(statusOf('web'), { status: { phase: 'Running' } });
    bed.server.operations.delete(podAt('web'), { gracePeriodSeconds: 0 });
    await bed.clock.advance(100);
    expect(watched.events).toEqual(['ADDED web', 'MODIFIED web', 'DELETED web']);
  });

  test('gets a pod when it is bound', async () => {
    const bed = new ApiBed();
    const { nodeName, ...unbound } = apiPod('web').spec;
    bed.server.operations.create(pods, { ...apiPod('web'), spec: unbound });
    const watched = new Watched(bed.node, ALL_PODS, String(bed.server.store.version), OWN);
    await bed.clock.advance(100);
    bed.server.operations.patch(podAt('web'), { spec: { nodeName } });
    await bed.clock.advance(100);
    expect(watched.events).toEqual(['ADDED web']);
  });

  test('is kept alive by bookmarks, and completes after its time', async () => {
    const bed = new ApiBed();
    const watched = new Watched(bed.node, ALL_PODS, '1', OWN);
    await bed.clock.advance(299_000);
    expect(watched.events).toEqual(['BOOKMARK ', 'BOOKMARK ', 'BOOKMARK ', 'BOOKMARK ']);
    expect(watched.end).toBeUndefined();
    await bed.clock.advance(2_000);
    expect(watched.end).toBe('completed');
    expect(bed.clock.armed).toBe(0);
  });

  test('from a version that is forgotten fails as Expired', async () => {
    const bed = new ApiBed();
    bed.server.operations.create(pods, apiPod('web'));
    bed.server.comeUp({ forgetful: true });
    const watched = new Watched(bed.node, ALL_PODS, '1', OWN);
    await bed.clock.advance(100);
    expect(watched.end).toMatch(/too old resource version/);
  });

  test('breaks when the server goes away', async () => {
    const bed = new ApiBed();
    const watched = new Watched(bed.node, ALL_PODS, '1', OWN);
    await bed.clock.advance(100);
    bed.server.goDown();
    expect(watched.end).toMatch(/broke/);
  });

  test('falls silent with the server, and its client notices that after half a minute', async () => {
    const bed = new ApiBed();
    const watched = new Watched(bed.node, ALL_PODS, '1', OWN);
    await bed.clock.advance(100);
    bed.server.goDown('silent');
    bed.server.comeUp();
    bed.server.operations.create(pods, apiPod('web'));
    await bed.clock.advance(29_000);
    expect(watched).toMatchObject({ events: [], end: undefined });
    await bed.clock.advance(1_000);
    expect(watched.end).toMatch(/broke/);
  });

  test('of a killed agent ends without an event', async () => {
    const bed = new ApiBed();
    const watched = new Watched(bed.node, ALL_PODS, '1', OWN);
    await bed.clock.advance(100);
    bed.node.cut();
    bed.server.operations.create(pods, apiPod('web'));
    await bed.clock.advance(400_000);
    expect(watched).toMatchObject({ events: [], end: undefined });
    expect(bed.clock.armed).toBe(0);
  });

  test('of others is forbidden', async () => {
    const bed = new ApiBed();
    const watched = new Watched(bed.node, ALL_PODS, '1');
    await bed.clock.advance(100);
    expect(watched.end).toMatch(/can only list\/watch pods/);
  });

  test('with late events still has all of them, in their order', async () => {
    const bed = new ApiBed(keyedRandom(1));
    bed.faults = { ...NO_API_FAULTS, lateEvents: 0.5 };
    const watched = new Watched(bed.node, ALL_PODS, '1', OWN);
    await bed.clock.advance(100);
    const names = Array.from({ length: 20 }, (_, index) => `pod-${String(index)}`);
    for (const name of names) bed.server.operations.create(pods, apiPod(name));
    await bed.clock.advance(50);
    expect(watched.events.length).toBeLessThan(20);
    await bed.clock.advance(30_000);
    expect(watched.events).toEqual(names.map((name) => `ADDED ${name}`));
  });

  test.each(['completed', 'too old resource version', 'broke'])('may end early: %s', async (end) => {
    const bed = new ApiBed(keyedRandom(1));
    bed.faults = { ...NO_API_FAULTS, brokenWatch: 1 };
    const watched = Array.from({ length: 40 }, () => new Watched(bed.node, ALL_PODS, '1', OWN));
    await bed.clock.advance(160_000);
    expect(watched.filter((one) => one.end?.includes(end)).length).toBeGreaterThan(3);
    expect(watched.filter((one) => one.end === undefined)).toEqual([]);
  });
});

describe('a request', () => {
  const create = (bed: ApiBed) => bed.server.operations.create(pods, apiPod('web'));
  const write = (bed: ApiBed) => bed.node.patch<Pod>(statusOf('web'), { status: { phase: 'Running' } });
  const phase = (bed: ApiBed) =>
    (bed.server.store.get('pods', podAt('web')) as ApiObject as Pod).status?.phase;
  const only = (fault: keyof ApiFaults): ApiFaults => ({ ...NO_API_FAULTS, [fault]: 1 });

  test('takes time both ways', async () => {
    const bed = new ApiBed();
    create(bed);
    const answer = write(bed);
    expect(phase(bed)).toBe('Pending');
    await bed.settle(answer);
    expect(phase(bed)).toBe('Running');
    expect(bed.ended).toEqual(['patch pods: done']);
  });

  test('may be carried out, and its answer lost', async () => {
    const bed = new ApiBed();
    create(bed);
    bed.faults = only('lostAnswer');
    await expect(bed.settle(write(bed))).rejects.toMatchObject({ kind: 'Unavailable' });
    expect(phase(bed)).toBe('Running');
  });

  test.each([
    [0.1, 'Unavailable', undefined],
    [0.5, 'ResourceExhausted', 429],
    [0.9, 'Internal', 500],
  ])('may fail without effect: %d', async (_, kind, status) => {
    const outcomes = new Set<string>();
    for (let seed = 1; seed < 40; seed++) {
      const bed = new ApiBed(keyedRandom(seed));
      create(bed);
      bed.faults = only('fail');
      const error: unknown = await bed.settle(write(bed).then(String, (problem: unknown) => problem));
      outcomes.add(JSON.stringify([(error as { kind: string }).kind, (error as { status?: number }).status]));
      expect(phase(bed)).toBe('Pending');
    }
    expect(outcomes).toContain(JSON.stringify([kind, status]));
    expect(outcomes.size).toBe(3);
  });

  test('may get no answer within its limit, and be carried out later or never', async () => {
    const phases = new Set<string | undefined>();
    for (let seed = 1; seed < 20; seed++) {
      const bed = new ApiBed(keyedRandom(seed));
      create(bed);
      bed.faults = only('hang');
      const began = bed.clock.now();
      const answer = bed.node.patch<Pod>(
        statusOf('web'),
        { status: { phase: 'Running' } },
        { timeoutMs: 10_000 },
      );
      await expect(bed.settle(answer)).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
      expect(bed.clock.now() - began).toBe(10_000);
      await bed.clock.advance(60_000);
      phases.add(phase(bed));
      expect(bed.ended).toHaveLength(1);
      expect(bed.clock.armed).toBe(0);
    }
    expect(phases).toEqual(new Set(['Pending', 'Running']));
  });

  test('may be slow', async () => {
    const bed = new ApiBed();
    create(bed);
    bed.faults = only('slow');
    const began = bed.clock.now();
    await bed.settle(write(bed));
    expect(bed.clock.now() - began).toBeGreaterThan(100);
  });

  test('can be called off', async () => {
    const bed = new ApiBed();
    create(bed);
    const controller = new AbortController();
    const { signal } = controller;
    const answer = bed.node.patch<Pod>(statusOf('web'), { status: { phase: 'Running' } }, { signal });
    controller.abort();
    await expect(answer).rejects.toMatchObject({ kind: 'Canceled' });
    await bed.clock.advance(1_000);
    expect(bed.ended).toHaveLength(1);
  });

  test('to a server that is down fails at once, and one to a silent server after its limit', async () => {
    const bed = new ApiBed();
    create(bed);
    bed.server.goDown();
    await expect(bed.settle(write(bed))).rejects.toMatchObject({ kind: 'Unavailable' });
    bed.server.goDown('silent');
    await expect(bed.settle(write(bed))).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
    bed.server.comeUp();
    expect((await bed.settle(write(bed))).status?.phase).toBe('Running');
  });

  test('of a killed agent is not answered, and may be carried out', async () => {
    const phases = new Set<string | undefined>();
    for (let seed = 1; seed < 20; seed++) {
      const bed = new ApiBed(keyedRandom(seed));
      create(bed);
      let isAnswered = false;
      void write(bed).finally(() => (isAnswered = true));
      bed.node.cut();
      await bed.clock.advance(1_000);
      phases.add(phase(bed));
      expect(isAnswered).toBe(false);
      expect(bed.ended).toHaveLength(1);
    }
    expect(phases).toEqual(new Set(['Pending', 'Running']));
  });
});

test('a list of any version may be old', async () => {
  const bed = new ApiBed(keyedRandom(1));
  for (let index = 0; index < 10; index++) bed.server.operations.create(pods, apiPod(`pod-${String(index)}`));
  bed.server.operations.delete(podAt('pod-0'), { gracePeriodSeconds: 0 });
  bed.faults = { ...NO_API_FAULTS, oldList: 1 };
  const listed = async (resourceVersion?: string) => {
    const options = { fieldSelector: OWN, ...(resourceVersion !== undefined && { resourceVersion }) };
    const { items, metadata } = await bed.settle(bed.node.list<Pod>(ALL_PODS, options));
    return { names: items.map((pod) => pod.metadata.name), version: Number(metadata.resourceVersion) };
  };
  const newest = Array.from({ length: 9 }, (_, index) => `pod-${String(index + 1)}`);
  expect(await listed()).toEqual({ names: newest, version: 12 });
  const old = await Promise.all(Array.from({ length: 10 }, () => listed('0')));
  for (const { names, version } of old) {
    const all = Array.from({ length: Math.min(10, version - 1) }, (_, index) => `pod-${String(index)}`);
    expect(names.toSorted()).toEqual(version < 12 ? all : newest);
  }
  expect(new Set(old.map(({ version }) => version)).size).toBeGreaterThan(2);
});

test('the authorizer may learn late of a pod that is bound or removed', async () => {
  const bed = new ApiBed();
  bed.faults = { ...NO_API_FAULTS, lateRights: 1 };
  bed.server.operations.create(pods, apiPod('web'));
  expect(await bed.settle(refusalOf(bed.node.get(podAt('web'))))).toMatch(/^403/);
  await bed.clock.advance(300);
  expect(await bed.settle(refusalOf(bed.node.get(podAt('web'))))).toBe('done');
  bed.server.operations.delete(podAt('web'), { gracePeriodSeconds: 0 });
  expect(await bed.settle(refusalOf(bed.node.get(podAt('web'))))).toMatch(/^404/);
  await bed.clock.advance(300);
  expect(await bed.settle(refusalOf(bed.node.get(podAt('web'))))).toMatch(/^403/);
});

test('a pod with a finalizer stays until the finalizer is gone', async () => {
  const bed = new ApiBed();
  const { operations, store } = bed.server;
  operations.create(pods, apiPod('web', {}, { finalizers: ['example.com/job'] }));
  await bed.settle(bed.node.delete(podAt('web'), { gracePeriodSeconds: 0 }));
  const { metadata } = store.get('pods', podAt('web')) ?? {};
  expect(metadata).toMatchObject({
    deletionGracePeriodSeconds: 0,
    deletionTimestamp: '2030-01-01T00:00:00Z',
  });
  operations.patch(podAt('web'), { metadata: { finalizers: null } });
  expect(store.get('pods', podAt('web'))).toBeUndefined();
});

test('the rights of a pod do not outlive it in another pod of its name', async () => {
  const bed = new ApiBed();
  const secret = { resource: 'secrets', namespace: 'default', name: 'key' } as const;
  bed.server.operations.create(secret, { metadata: { name: 'key', namespace: 'default' } });
  bed.server.operations.create(pods, apiPod('web', { imagePullSecrets: [{ name: 'key' }] }));
  expect(await bed.settle(refusalOf(bed.node.get(secret)))).toBe('done');
  bed.faults = { ...NO_API_FAULTS, lateRights: 1 };
  bed.server.operations.delete(podAt('web'), { gracePeriodSeconds: 0 });
  bed.server.operations.create(pods, apiPod('web'));
  await bed.clock.advance(1_000);
  expect(await bed.settle(refusalOf(bed.node.get(secret)))).toMatch(/^403 .*no relationship found/);
});

test('a node reads the VolumeAttachments of its own volumes alone', async () => {
  const bed = new ApiBed();
  const at = (name: string) => ({ resource: 'volumeattachments', name }) as const;
  for (const [name, nodeName] of [
    ['own', bed.server.nodeName],
    ['other', 'another-node'],
  ] as const)
    bed.server.operations.create(at(name), { metadata: { name }, ...{ spec: { nodeName } } });
  expect(await bed.settle(refusalOf(bed.node.get(at('own'))))).toBe('done');
  for (const name of ['other', 'gone'])
    expect(await bed.settle(refusalOf(bed.node.get(at(name))))).toMatch(/^403 .*no relationship found/);
});
