import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Volume } from '../../../../../src/agent/policies/volumes/volume-source.ts';
import {
  ClaimFigures,
  type CsiFigures,
  type ClaimFiguresParts,
} from '../../../../../src/agent/runtime/stats/disks/claim-figures.ts';
import { podPaths } from '../../../../../src/agent/runtime/volumes/pod-paths.ts';
import { machineDisk } from '../../../../../src/agent/runtime/volumes/volume-disk.ts';
import type { Pod } from '../../../../../src/types/kubernetes.ts';
import type { FsStats } from '../../../../../src/types/stats.ts';
import { testPod } from '../../../../support/pods.ts';
import { testContext } from '../../../../support/test-context.ts';

const FIGURES: Required<FsStats> = {
  time: '2030-01-01T00:00:00.000Z',
  availableBytes: 1,
  capacityBytes: 2,
  usedBytes: 3,
  inodesFree: 4,
  inodes: 5,
  inodesUsed: 6,
};

let podsDir: string;
let mounted: Set<string>;
let asked: number;
const pods = new Map<string, Pod>();

beforeEach(() => {
  podsDir = realpathSync(mkdtempSync(join(tmpdir(), 'statelet-claims-')));
  mounted = new Set();
  asked = 0;
});
afterEach(() => {
  pods.clear();
  rmSync(podsDir, { recursive: true });
});

function open(options: Partial<ClaimFiguresParts> = {}): ClaimFigures {
  return new ClaimFigures(testContext(), {
    podsDir,
    podOf: (uid) => pods.get(uid),
    disk: { ...machineDisk, mountedPaths: () => Promise.resolve(((asked += 1), mounted)) },
    ...options,
  });
}

/** A pod whose container mounts all of the volumes, unless others are named. */
function runs(uid: string, volumes: readonly Volume[], used = volumes.map(({ name }) => name)): void {
  const pod = testPod({ name: uid, uid });
  const volumeMounts = used.map((name) => ({ name, mountPath: `/${name}` }));
  pods.set(uid, {
    ...pod,
    spec: { ...pod.spec, volumes: [...volumes], containers: [{ name: 'main', volumeMounts }] },
  });
}

const claimed = (name: string, claimName = `${name}-claim`): Volume => ({
  name,
  persistentVolumeClaim: { claimName },
});

function leadsTo(uid: string, volume: string, kind: 'local' | 'hostPath' | 'csi', isMounted = true): void {
  const paths = podPaths(podsDir, uid);
  const file = paths.claimFile(volume);
  mkdirSync(dirname(file), { recursive: true });
  const source = kind === 'csi' ? { kind, driver: `${volume}.test`, handle: 'h' } : { kind, path: '/disk' };
  writeFileSync(file, JSON.stringify({ name: `pv-${volume}`, source }));
  const folder = kind === 'csi' ? paths.csiMount(`pv-${volume}`) : paths.volume('local', `pv-${volume}`);
  mkdirSync(folder, { recursive: true });
  if (isMounted) mounted.add(folder);
}

test('a local volume has the figures of its file system, and names its claim', async () => {
  runs('a', [claimed('data', 'orders')]);
  leadsTo('a', 'data', 'local');
  const [stats] = (await open().of(['a'])).get('a') ?? [];
  const { bsize, blocks, files } = statfsSync(podsDir);
  expect(stats).toMatchObject({
    name: 'data',
    pvcRef: { name: 'orders', namespace: 'default' },
    capacityBytes: blocks * bsize,
    inodes: files,
  });
  expect(Object.keys(stats ?? {})).toEqual(expect.arrayContaining(Object.keys(FIGURES)));
});

test('a block device has the figures of its CSI driver, and none of a file system', async () => {
  runs('a', [claimed('known'), claimed('silent'), claimed('local')]);
  const csiDir = join(dirname(podsDir), 'plugins/kubernetes.io/csi/volumeDevices/publish');
  for (const [name, kind] of [
    ['known', 'csi'],
    ['silent', 'csi'],
    ['local', 'local'],
  ] as const) {
    leadsTo('a', name, kind);
    const file = podPaths(podsDir, 'a').claimFile(name);
    const record = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...record, isBlock: true }));
    mounted.add(join(csiDir, `pv-${name}`, 'a'));
  }
  const csiFigures: CsiFigures = ({ driver }, path) =>
    Promise.resolve(driver === 'known.test' && path.endsWith('pv-known/a') ? FIGURES : undefined);
  const all = (await open({ csiFigures }).of(['a'])).get('a') ?? [];
  expect(all.map(({ name }) => name)).toEqual(['known']);
});

test('an ephemeral volume names the claim that was made for its pod', async () => {
  runs('a', [{ name: 'scratch', ephemeral: {} }]);
  leadsTo('a', 'scratch', 'local');
  expect((await open().of(['a'])).get('a')).toMatchObject([
    { name: 'scratch', pvcRef: { name: 'a-scratch', namespace: 'default' } },
  ]);
});

test('other volumes have none: hostPath, not mounted yet, not found yet, not used, broken record', async () => {
  runs(
    'a',
    ['host', 'unmounted', 'unknown', 'unused', 'broken'].map((name) => claimed(name)),
    ['host', 'unmounted', 'unknown', 'broken'],
  );
  leadsTo('a', 'host', 'hostPath');
  leadsTo('a', 'unmounted', 'local', false);
  leadsTo('a', 'unused', 'local');
  leadsTo('a', 'broken', 'local');
  writeFileSync(podPaths(podsDir, 'a').claimFile('broken'), '');
  expect(await open().of(['a'])).toEqual(new Map());
  expect(asked).toBe(1);
});

test('pods without claims, and pods that are not known, cost nothing', async () => {
  runs('a', [{ name: 'data', emptyDir: {} }]);
  expect(await open().of(['a', 'gone'])).toEqual(new Map());
  expect(asked).toBe(0);
});

test('a volume whose figures cannot be read is left out, and the others are not', async () => {
  runs('a', [claimed('bad'), claimed('good')]);
  for (const name of ['bad', 'good']) leadsTo('a', name, 'local');
  const figuresOf = (path: string) =>
    path.endsWith('bad') ? Promise.reject(new Error('EIO')) : Promise.resolve(FIGURES);
  expect((await open({ figuresOf }).of(['a'])).get('a')).toMatchObject([{ name: 'good' }]);
});

test('a file system that does not answer is asked once, and the others again when it has answered', async () => {
  runs('a', [claimed('hung'), claimed('good')]);
  for (const name of ['hung', 'good']) leadsTo('a', name, 'local');
  const held = Promise.withResolvers<Required<FsStats>>();
  const paths: string[] = [];
  const figuresOf = (path: string) => {
    paths.push(path);
    return path.endsWith('hung') ? held.promise : Promise.resolve(FIGURES);
  };
  const figures = open({ figuresOf, patienceMs: 1 });
  expect(await figures.of(['a'])).toEqual(new Map());
  expect(await figures.of(['a'])).toEqual(new Map());
  expect(paths).toHaveLength(1);
  held.resolve(FIGURES);
  await held.promise;
  expect((await figures.of(['a'])).get('a')).toMatchObject([{ name: 'hung' }, { name: 'good' }]);
});

test('the driver of a CSI volume is asked, else its file system; one that does not answer holds up only its own volumes', async () => {
  runs(
    'a',
    ['hung', 'told', 'untold', 'disk'].map((name) => claimed(name)),
  );
  for (const name of ['hung', 'told', 'untold']) leadsTo('a', name, 'csi');
  leadsTo('a', 'disk', 'local');
  const csiFigures: ClaimFiguresParts['csiFigures'] = ({ driver }) =>
    driver === 'hung.test'
      ? Promise.withResolvers<Required<FsStats>>().promise
      : Promise.resolve(driver === 'told.test' ? { ...FIGURES, usedBytes: 7 } : undefined);
  const figures = open({ csiFigures, figuresOf: () => Promise.resolve(FIGURES), patienceMs: 50 });
  for (let reading = 0; reading < 2; reading++)
    expect((await figures.of(['a'])).get('a')).toMatchObject([
      { name: 'told', usedBytes: 7 },
      { name: 'untold', usedBytes: 3 },
      { name: 'disk', usedBytes: 3 },
    ]);
});
