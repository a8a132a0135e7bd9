import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ClaimFolders } from '../../../../src/agent/sources/objects/claim-folders.ts';
import { LocalObjects } from '../../../../src/agent/sources/objects/local-objects.ts';
import {
  manifestObject,
  type ManifestObject,
  type ObjectKind,
} from '../../../../src/agent/sources/objects/manifest-object.ts';
import { problemText, type SourceUpdate } from '../../../../src/agent/sources/source.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

let dir: string;
let clock: VirtualClock;
let objects: LocalObjects;
let synced: string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'statelet-objects-'));
  clock = new VirtualClock();
  const usedOnDisk = () => Promise.resolve(new Set<string>());
  const context = { clock, logger: silentLogger };
  objects = new LocalObjects(context, new ClaimFolders(context, { folder: join(dir, 'claims'), usedOnDisk }));
  synced = [];
  objects.changes.subscribe((uid) => synced.push(uid));
});

afterEach(async () => {
  objects.close();
  await rm(dir, { recursive: true, force: true });
});

const object = (
  name: string,
  data: Record<string, string>,
  more: object = {},
  kind: ObjectKind = 'ConfigMap',
) => manifestObject(kind, { metadata: { name }, data, ...more });
const update = (file: string, ...all: readonly ManifestObject[]): SourceUpdate => ({
  pods: [],
  objects: [{ file, objects: all }],
  problems: [],
});
const together = (...updates: readonly SourceUpdate[]): SourceUpdate => ({
  pods: [],
  objects: updates.flatMap((one) => one.objects ?? []),
  problems: [],
});
const problemsOf = (given: SourceUpdate) =>
  objects.take(given).problems.map((problem) => problemText(problem));
const colorOf = async (name: string, namespace = 'default') =>
  (await objects.configMap(namespace, name))?.data?.color;
const podWith = (uid: string, configMap: string, namespace = 'default'): Pod => ({
  metadata: { name: uid, namespace, uid },
  spec: { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: configMap } }] }] },
});

test('an object is found in its namespace, by its kind', async () => {
  objects.take(update('/a', object('app', { color: 'red' })));
  expect(await colorOf('app')).toBe('red');
  expect(await colorOf('app', 'shop')).toBeUndefined();
  expect(await objects.secret('default', 'app')).toBeUndefined();
});

describe('before all manifests have been read', () => {
  test('an existing object is known, and another one does not count as missing', async () => {
    objects.take({ ...update('/a', object('app', { color: 'red' })), restored: true });
    expect(await colorOf('app')).toBe('red');
    await expect(colorOf('later')).rejects.toThrow(
      'ConfigMap default/later is not known: not all manifests of --pods have been read',
    );
  });

  test('pods wait, and are synced once they have been', async () => {
    objects.take({ objects: [], problems: [] });
    objects.registerPod(podWith('u-1', 'app'));
    objects.take(update('/a'));
    expect(synced).toEqual(['u-1']);
    expect(await colorOf('app')).toBeUndefined();
  });
});

describe('pods that refer to an object are synced, and no others,', () => {
  beforeEach(() => {
    objects.take(update('/a', object('app', { color: 'red' }), object('other', {})));
    objects.registerPod(podWith('u-1', 'app'));
    objects.registerPod(podWith('u-2', 'other'));
    objects.registerPod(podWith('u-3', 'app', 'shop'));
  });

  test.each<[string, SourceUpdate]>([
    ['when it changes', update('/a', object('app', { color: 'blue' }), object('other', {}))],
    ['when it goes', update('/a', object('other', {}))],
    ['when it becomes a Secret', update('/a', object('app', {}, {}, 'Secret'), object('other', {}))],
  ])('%s', (_when, next) => {
    objects.take(next);
    expect(synced).toEqual(['u-1']);
  });

  test('when it comes', () => {
    objects.registerPod(podWith('u-4', 'late'));
    objects.take(update('/a', object('app', { color: 'red' }), object('other', {}), object('late', {})));
    expect(synced).toEqual(['u-4']);
  });

  test('as long as they are there', () => {
    objects.forgetPod('u-1');
    objects.take(update('/a', object('other', {})));
    expect(synced).toEqual([]);
  });
});

describe('of two objects with one name', () => {
  test('the first one counts, and the other is reported', async () => {
    objects.take(update('/b', object('app', { color: 'red' })));
    const both = together(
      update('/a', object('app', { color: 'blue' })),
      update('/b', object('app', { color: 'red' })),
    );
    expect(problemsOf(both)).toEqual([
      '/a: metadata.name: "app" in namespace "default" is that of a ConfigMap in /b: this ConfigMap is left out',
    ]);
    expect(await colorOf('app')).toBe('red');
    expect(problemsOf(update('/a', object('app', { color: 'blue' })))).toEqual([]);
    expect(await colorOf('app')).toBe('blue');
  });

  test('in one file, the first one counts', async () => {
    const twice = update('/a', object('app', { color: 'red' }), object('app', { color: 'blue' }));
    expect(problemsOf(twice)).toHaveLength(1);
    expect(await colorOf('app')).toBe('red');
  });
});

describe('an immutable object', () => {
  const immutable = (color: string, more: object = { immutable: true }) =>
    update('/a', object('app', { color }, more));

  test('keeps its content when its document changes, and that is reported', async () => {
    objects.take(immutable('red'));
    expect(problemsOf(immutable('blue'))).toEqual([
      '/a: immutable: the ConfigMap default/app is immutable, and keeps its former content: give it another name, or remove it first',
    ]);
    expect(await colorOf('app')).toBe('red');
    expect(problemsOf(immutable('blue', {}))).toHaveLength(1);
    expect(problemsOf(immutable('red'))).toEqual([]);
  });

  test('may have another content once it was removed', async () => {
    objects.take(immutable('red'));
    objects.take(update('/a'));
    expect(problemsOf(immutable('blue'))).toEqual([]);
    expect(await colorOf('app')).toBe('blue');
  });
});

test('a claim is bound to a volume of its own, whose folder is made when it is asked for', async () => {
  const spec = { accessModes: ['ReadWriteOncePod'], resources: { requests: { storage: '1Gi' } } };
  objects.take(update('/a', manifestObject('PersistentVolumeClaim', { metadata: { name: 'data' }, spec })));
  const claim = await objects.persistentVolumeClaim('default', 'data');
  expect(claim).toMatchObject({ status: { phase: 'Bound' }, spec: { volumeName: 'default/data' } });
  expect(await objects.persistentVolume('default/data')).toMatchObject({
    metadata: { name: 'default/data' },
    spec: {
      accessModes: ['ReadWriteOncePod'],
      claimRef: { uid: claim?.metadata?.uid },
      hostPath: { path: join(dir, 'claims/default/data'), type: 'Directory' },
    },
  });
  expect(await objects.persistentVolumeClaim('default', 'other')).toBeUndefined();
  expect(await objects.persistentVolume('default/other')).toBeUndefined();
});

test('what only an API server has is not there', async () => {
  expect(objects.services()).toEqual({ listed: true, services: [] });
  await expect(objects.serviceAccount()).resolves.toBeUndefined();
  await expect(objects.clusterTrustBundles()).resolves.toEqual([]);
  await expect(objects.token()).rejects.toThrow('there is no API server that gives tokens');
});
