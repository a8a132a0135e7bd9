import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { writePayload } from '../../../../../src/agent/runtime/volumes/kinds/atomic-writer.ts';
import type { VolumeContents } from '../../../../../src/agent/runtime/volumes/kinds/volume-contents.ts';
import type { VolumeFile } from '../../../../../src/agent/policies/volumes/projected-files.ts';
import type { Pod } from '../../../../../src/types/kubernetes.ts';
import { digestOf } from '../../../../../src/agent/runtime/volumes/kinds/files-volume.ts';
import { warnings } from '../../../../support/warnings.ts';
import { describeAsRoot, modeOf, podWith, VolumeBed, type Volume } from '../bed.ts';

let bed: VolumeBed;
beforeEach(() => void (bed = new VolumeBed()));
afterEach(() => bed.remove());

const folder = (plugin = 'downward-api') => join(bed.podDir(), `volumes/kubernetes.io~${plugin}/v0`);
const NAME = { fieldPath: 'metadata.name' };
const LABELS = { fieldPath: 'metadata.labels' };

const DOWNWARD: Omit<Volume, 'name'> = {
  downwardAPI: {
    items: [
      { path: 'labels', fieldRef: LABELS },
      { path: 'conf/name', fieldRef: NAME, mode: 0o400 },
    ],
  },
};

function labelled(labels: Record<string, string>): Pod {
  const pod = podWith([DOWNWARD]);
  return { ...pod, metadata: { ...pod.metadata, labels } };
}

describeAsRoot('a downwardAPI volume', () => {
  test('has its files in the layout of the kubelet, with their modes', async () => {
    await bed.mount(labelled({ app: 'web' }));
    const [version] = readdirSync(folder()).filter((name) => name.startsWith('..2'));
    expect(version).toMatch(/^\.\.2030_01_01_00_00_00\..{6}$/);
    expect(readdirSync(folder()).sort()).toEqual([version, '..data', 'conf', 'labels'].sort());
    expect(readlinkSync(join(folder(), '..data'))).toBe(version);
    expect(readlinkSync(join(folder(), 'labels'))).toBe('..data/labels');
    expect(readlinkSync(join(folder(), 'conf'))).toBe('..data/conf');
    expect(readFileSync(join(folder(), 'labels'), 'utf8')).toBe('app="web"');
    expect(readFileSync(join(folder(), 'conf/name'), 'utf8')).toBe('web');
    expect(['', '..data', 'conf', 'labels', 'conf/name'].map((name) => modeOf(join(folder(), name)))).toEqual(
      ['1777', '755', '755', '644', '400'],
    );
  });

  test('is kept in memory, and removed with its pod', async () => {
    await bed.mount(labelled({ app: 'web' }));
    await bed.newManager().mountPod(labelled({ app: 'web' }), new AbortController().signal);
    expect(bed.mounts()).toEqual([folder()]);
    await bed.manager.releaseVolumes('u-1');
    expect(bed.mounts()).toEqual([]);
    expect(existsSync(folder())).toBe(false);
  });

  test('is read-only for containers, also if a mount is not readOnly', async () => {
    await bed.mount(labelled({}));
    expect(await bed.volumeMounts(labelled({}))).toMatchObject([{ hostPath: folder(), readonly: true }]);
  });

  test('is not written again while nothing changes', async () => {
    await bed.mount(labelled({ app: 'web' }));
    const before = readlinkSync(join(folder(), '..data'));
    await bed.clock.advance(60_000);
    await bed.mount(labelled({ app: 'web' }));
    expect(readlinkSync(join(folder(), '..data'))).toBe(before);
  });

  test('that cannot be written keeps its files, and a failed write leaves no new ones', async () => {
    await bed.mount(labelled({ app: 'web' }));
    const before = readdirSync(folder()).sort();
    const ownership = { fsGroup: undefined, logger: warnings().logger };
    const file = (path: string): VolumeFile => ({ path, content: Buffer.from('new'), mode: 0o644 });
    const names = ['labels', 'x'.repeat(256)];
    const payload = new Map(names.map((name) => [name, file(name)]));
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(writePayload(folder(), payload, ownership, 0)).rejects.toThrow('ENAMETOOLONG');
    expect(readdirSync(folder()).sort()).toEqual(before);
  });

  test('changes all its files at once', async () => {
    await bed.mount(labelled({ app: 'web' }));
    const old = readlinkSync(join(folder(), '..data'));
    const { ino } = statSync(folder());
    await bed.clock.advance(60_000);
    await bed.mount(labelled({ app: 'shop' }));
    const now = readlinkSync(join(folder(), '..data'));
    expect(now).toMatch(/^\.\.2030_01_01_00_01_00\./);
    expect(existsSync(join(folder(), old))).toBe(false);
    expect(readFileSync(join(folder(), 'labels'), 'utf8')).toBe('app="shop"');
    expect(statSync(folder()).ino).toBe(ino);
  });

  test('has new items after an update, and removed items no more', async () => {
    await bed.mount(labelled({}));
    await bed.mount(podWith([{ downwardAPI: { items: [{ path: 'labels/name', fieldRef: NAME }] } }]));
    expect(readdirSync(folder()).filter((name) => !name.startsWith('..'))).toEqual(['labels']);
    expect(readFileSync(join(folder(), 'labels/name'), 'utf8')).toBe('web');
  });

  describe('after the agent was killed', () => {
    test('while it wrote files, the next write starts again', async () => {
      mkdirSync(join(folder(), '..2029_12_31_23_59_59.abcdef'), { recursive: true });
      writeFileSync(join(folder(), '..2029_12_31_23_59_59.abcdef/labels'), 'half');
      symlinkSync('..2029_12_31_23_59_59.abcdef', join(folder(), '..data_tmp'));
      await bed.mount(labelled({ app: 'web' }));
      expect(
        readdirSync(folder())
          .filter((name) => !name.startsWith('..2030'))
          .sort(),
      ).toEqual(['..data', 'conf', 'labels'].sort());
    });

    test('before it made the links of the files, the next write makes them', async () => {
      await bed.mount(labelled({ app: 'web' }));
      const version = readlinkSync(join(folder(), '..data'));
      rmSync(join(folder(), 'labels'));
      bed.newManager();
      await bed.mount(labelled({ app: 'web' }));
      expect(readlinkSync(join(folder(), '..data'))).toBe(version);
      expect(readFileSync(join(folder(), 'labels'), 'utf8')).toBe('app="web"');
    });

    test('and files were removed, the next write restores them', async () => {
      await bed.mount(labelled({ app: 'web' }));
      rmSync(join(folder(), readlinkSync(join(folder(), '..data'))), { recursive: true });
      bed.newManager();
      await bed.mount(labelled({ app: 'web' }));
      expect(readFileSync(join(folder(), 'labels'), 'utf8')).toBe('app="web"');
    });
  });

  test.each([
    ['../up', "must not contain '..': ../up"],
    ['/abs', 'must be relative path: /abs'],
    ['..data', "must not start with '..': ..data"],
    ['.', 'must name a file below the volume: .'],
  ])('a path such as %j is refused', async (path, problem) => {
    const pod = podWith([{ downwardAPI: { items: [{ path, fieldRef: NAME }] } }]);
    await expect(bed.mount(pod)).rejects.toThrow(
      `MountVolume.SetUp failed for volume "v0" : invalid path: ${problem}`,
    );
  });
});

describeAsRoot('a projected volume', () => {
  const projected = (sources: readonly object[], defaultMode = 0o640): Pod =>
    podWith([{ projected: { defaultMode, sources } }]);
  const named = (path: string) => ({ downwardAPI: { items: [{ path, fieldRef: NAME }] } });

  test('has the files of all its sources', async () => {
    await bed.mount(projected([named('a'), named('b/c')]));
    expect(readFileSync(join(folder('projected'), 'a'), 'utf8')).toBe('web');
    expect(modeOf(join(folder('projected'), 'b/c'))).toBe('640');
  });

  test('ignores optional sources that need an API server', async () => {
    const optional = { name: 'x', optional: true };
    const sources = [
      { configMap: optional },
      { secret: optional },
      { clusterTrustBundle: { ...optional, path: 'ca' } },
    ];
    await bed.mount(projected([...sources, named('a')]));
    expect(readdirSync(folder('projected')).filter((name) => !name.startsWith('..'))).toEqual(['a']);
  });

  test.each([
    ['configMap', { configMap: { name: 'x' } }],
    ['secret', { secret: { name: 'x', optional: false } }],
    ['serviceAccountToken', { serviceAccountToken: { path: 'token' } }],
    ['clusterTrustBundle', { clusterTrustBundle: { path: 'ca' } }],
  ])('with a %s fails, as that needs an API server', async (kind, source) => {
    await expect(bed.mount(projected([named('a'), source]))).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: `MountVolume.SetUp failed for volume "v0" : this node cannot read a ${kind} from an API server; mark it optional or use a hostPath volume`,
    });
    expect(existsSync(folder('projected'))).toBe(false);
  });

  test('without sources it is empty', async () => {
    await bed.mount(projected([]));
    expect(readdirSync(join(folder('projected'), '..data'))).toEqual([]);
  });
});

describeAsRoot('a configMap or secret volume', () => {
  test('is empty if it is optional, and fails otherwise', async () => {
    await bed.mount(podWith([{ configMap: { name: 'x', optional: true } }]));
    expect(readdirSync(join(folder('configmap'), '..data'))).toEqual([]);
    await bed.mount(podWith([{ secret: { secretName: 'x', optional: true } }]));
    expect(existsSync(folder('secret'))).toBe(true);
    await expect(
      bed.mount({
        ...podWith([{ secret: { secretName: 'x' } }]),
        metadata: { name: 'y', namespace: 'ns', uid: 'u-2' },
      }),
    ).rejects.toThrow('this node cannot read a secret from an API server');
  });
});

test('an aborted sync writes nothing', async () => {
  const pod = labelled({});
  await expect(bed.mount(pod, AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
  expect(existsSync(folder())).toBe(false);
});

describeAsRoot('a provider of files from an API server', () => {
  const files: VolumeFile[] = [{ path: 'password', content: Buffer.from([0xff, 0]), mode: 0o644 }];
  const provider = (found: VolumeFile[] | undefined): VolumeContents => ({
    files: () => Promise.resolve(found),
  });

  test('gives the files of volumes and projections of its kind', async () => {
    bed.remove();
    bed = new VolumeBed({ contents: new Map([['configMap', provider(files)]]) });
    await bed.mount(podWith([{ configMap: { name: 'x' } }]));
    expect(readFileSync(join(folder('configmap'), 'password'))).toEqual(Buffer.from([0xff, 0]));
    await bed.mount(podWith([{ projected: { sources: [{ configMap: { name: 'x' } }] } }]));
    expect(readFileSync(join(folder('projected'), 'password'))).toEqual(Buffer.from([0xff, 0]));
  });

  test('may not have the named object: the mount fails, unless the object is optional', async () => {
    bed.remove();
    bed = new VolumeBed({ contents: new Map([['configMap', provider(undefined)]]) });
    await expect(bed.mount(podWith([{ configMap: { name: 'x' } }]))).rejects.toMatchObject({
      kind: 'NotFound',
      message: 'MountVolume.SetUp failed for volume "v0" : configmap "x" not found',
    });
    await bed.mount(podWith([{ configMap: { name: 'x', optional: true } }]));
  });

  test('may fail later: the files that are there stay, and an event says why', async () => {
    bed.remove();
    let found: VolumeFile[] | undefined = files;
    const contents: VolumeContents = { files: () => Promise.resolve(found) };
    bed = new VolumeBed({ contents: new Map([['configMap', contents]]) });
    const pod = podWith([{ configMap: { name: 'x' } }]);
    await bed.mount(pod);
    found = undefined;
    await bed.mount(pod);
    expect(readFileSync(join(folder('configmap'), 'password'))).toHaveLength(2);
    expect(bed.events).toEqual([
      'FailedMount: MountVolume.SetUp failed for volume "v0" : configmap "x" not found',
    ]);
  });

  test('gives a file to the user that it is for', async () => {
    bed.remove();
    const token: VolumeFile[] = [{ path: 'token', content: 'x', mode: 0o600, owner: 1234 }];
    bed = new VolumeBed({ contents: new Map([['serviceAccountToken', provider(token)]]) });
    const sources = [{ serviceAccountToken: { path: 'token' } }];
    await bed.mount(podWith([{ projected: { sources } }]));
    expect(statSync(join(folder('projected'), 'token'))).toMatchObject({ uid: 1234, mode: 0o100600 });
  });

  test('has its files in memory, except for a configMap volume', async () => {
    bed.remove();
    const kinds = ['secret', 'configMap'] as const;
    bed = new VolumeBed({ contents: new Map(kinds.map((kind) => [kind, provider(files)])) });
    const volumes = [{ configMap: { name: 'x' } }, { secret: { secretName: 'x' } }];
    await bed.mount(podWith(volumes));
    const secret = join(bed.podDir(), 'volumes/kubernetes.io~secret/v1');
    expect(bed.mounts()).toEqual([secret]);
    expect(readFileSync(join(secret, 'password'))).toHaveLength(2);
    await bed.manager.unmountPod('u-1');
    expect(bed.mounts()).toEqual([]);
  });
});

describeAsRoot('the fsGroup of files', () => {
  test('can read all files, and other users get no further permissions', async () => {
    const pod = podWith([DOWNWARD], { securityContext: { fsGroup: 2345 } });
    await bed.mount(pod);
    const names = ['', '..data', 'conf', 'labels', 'conf/name'].map((name) => join(folder(), name));
    expect(names.map(modeOf)).toEqual(['3777', '2755', '2755', '644', '440']);
    expect(names.map((name) => statSync(name).gid)).toEqual(Array(5).fill(2345));
  });
});

const digest = (files: Readonly<Record<string, string | Uint8Array>>, mode = 0o644) =>
  digestOf(new Map(Object.entries(files).map(([path, content]) => [path, { path, content, mode }])));

test('the digest differs for other paths or contents, and for nothing else', () => {
  const files = { a: 'x', 'b/c': 'y' };
  expect(digest({ ...files }, 0o600)).toBe(digest(files));
  expect(digest({ a: Buffer.from('x'), 'b/c': 'y' })).toBe(digest(files));
  const others: Record<string, string>[] = [
    { a: 'x' },
    { a: 'x', 'b/d': 'y' },
    { a: 'y', 'b/c': 'x' },
    { a: 'xb/c', '': 'y' },
    { a: '', x: '', 'b/c': 'y' },
    {},
  ];
  const all = new Set([files as Record<string, string>, ...others].map((each) => digest(each)));
  expect(all.size).toBe(others.length + 1);
});

test('the digest does not show the contents', () => {
  expect(digest({ password: 'hunter2' })).not.toContain('hunter2');
});
