/** Volumes with claims on real folders and mounts. The server's answers are given by the test; test/e2e/cluster/claims.test.ts has a real one. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  lstatSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ClaimedVolumes } from '../../../../src/agent/runtime/volumes/claimed-volumes.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../../src/types/kubernetes.ts';
import { claim, CLAIMED, claimingPod, persistentVolume } from '../../policies/volumes/claims/claims.ts';
import { describeAsRoot, modeOf, run, VolumeBed } from './bed.ts';

type Spec = NonNullable<PersistentVolume['spec']>;

const LOCAL_FOLDER = 'volumes/kubernetes.io~local-volume';

let bed: VolumeBed;
/** A folder of the node. */
let disk: string;
let found: { claim: PersistentVolumeClaim | undefined; volume: PersistentVolume | undefined };
let asked: string[];

beforeEach(() => {
  bed = new VolumeBed({
    // Each manager has a memory of its own, as each agent has.
    get claims() {
      return newClaims();
    },
  });
  disk = join(bed.dir, 'disk');
  mkdirSync(join(disk, 'sub'), { recursive: true });
  writeFileSync(join(disk, 'sub', 'file'), 'kept');
  asked = [];
});
afterEach(() => bed.remove());

function newClaims(): ClaimedVolumes {
  return new ClaimedVolumes({
    objects: {
      persistentVolumeClaim: (_namespace, name) => {
        asked.push(name);
        return Promise.resolve(found.claim);
      },
      persistentVolume: (name) => {
        asked.push(name);
        return Promise.resolve(found.volume);
      },
    },
    nodeLabels: () => ({}),
  });
}

const serve = (spec: Spec) => void (found = { claim: claim(), volume: persistentVolume(spec) });
const serveLocal = (more: Spec = {}) => serve({ local: { path: disk }, ...more });
const ofGroup = (fsGroup: number, fsGroupChangePolicy?: string): Pod =>
  claimingPod(CLAIMED, {
    securityContext: { fsGroup, ...(fsGroupChangePolicy !== undefined && { fsGroupChangePolicy }) },
  });
const withUID = (pod: Pod, uid: string): Pod => ({ ...pod, metadata: { ...pod.metadata, uid } });
const folderOf = (uid = 'u-1') => join(bed.podDir(uid), LOCAL_FOLDER, 'pv-1');
const gidOf = (...names: string[]) => lstatSync(join(disk, ...names)).gid;

describeAsRoot('a local volume', () => {
  beforeEach(() => serveLocal());

  test('is a mount of the folder, and what is in the folder outlives the pod', async () => {
    const pod = claimingPod();
    await bed.mount(pod);
    expect(await bed.volumeMounts(pod)).toMatchObject([
      { containerPath: '/data0', hostPath: folderOf(), readonly: false },
    ]);
    expect(readFileSync(join(folderOf(), 'sub', 'file'), 'utf8')).toBe('kept');
    writeFileSync(join(folderOf(), 'new'), 'written');
    await bed.manager.releaseVolumes('u-1');
    expect(bed.mounts()).toEqual([]);
    await bed.manager.unmountPod('u-1');
    expect(readdirSync(bed.rootDir + '/pods')).toEqual([]);
    expect(readdirSync(disk).sort()).toEqual(['new', 'sub']);
  });

  test('is mounted once, however often the pod is synced and by however many of its volumes', async () => {
    const more = { name: 'more', persistentVolumeClaim: { claimName: 'orders' } };
    const volumeMounts = ['data', 'more'].map((name, i) => ({ name, mountPath: `/data${i}` }));
    const pod = claimingPod(CLAIMED, {
      volumes: [CLAIMED, more],
      containers: [{ name: 'main', volumeMounts }],
    });
    await bed.mount(pod);
    await bed.mount(pod);
    expect(bed.mounts()).toEqual([folderOf()]);
    expect((await bed.volumeMounts(pod)).map(({ hostPath }) => hostPath)).toEqual([folderOf(), folderOf()]);
  });

  test('may be mounted for reading alone, and in part', async () => {
    const readOnly = { name: 'data', persistentVolumeClaim: { claimName: 'orders', readOnly: true } };
    const volumeMounts = [{ name: 'data', mountPath: '/data0', subPath: 'sub' }];
    const pod = claimingPod(readOnly, { containers: [{ name: 'main', volumeMounts }] });
    await bed.mount(pod);
    expect(() => writeFileSync(join(folderOf(), 'new'), '')).toThrow('EROFS');
    const [mount] = await bed.volumeMounts(pod);
    expect(mount).toMatchObject({ readonly: true });
    expect(readdirSync(mount?.hostPath ?? '')).toEqual(['file']);
    await bed.manager.releaseVolumes('u-1');
    expect(bed.mounts()).toEqual([]);
  });

  test('has the options of the PersistentVolume', async () => {
    serveLocal({ mountOptions: ['noexec', 'nodev'] });
    await bed.mount(claimingPod());
    const line = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((text) => text.includes(LOCAL_FOLDER));
    expect(line).toMatch(/nodev,noexec/u);
  });

  test('is found by a later agent, which need not ask for the claim: it may be being deleted by now', async () => {
    await bed.mount(claimingPod());
    expect(asked).toEqual(['orders', 'pv-1']);
    found = { claim: undefined, volume: undefined };
    bed.newManager();
    await bed.mount(claimingPod());
    expect(await bed.volumeMounts(claimingPod())).toMatchObject([{ hostPath: folderOf() }]);
    expect(asked).toEqual(['orders', 'pv-1']);
    await bed.manager.unmountPod('u-1');
    expect(bed.mounts()).toEqual([]);
  });

  test('must be a folder that exists', async () => {
    serveLocal({ local: { path: join(disk, 'none') } });
    await expect(bed.mount(claimingPod())).rejects.toThrow(
      `MountVolume.NewMounter initialization failed for volume "pv-1" : path "${disk}/none" does not exist`,
    );
    writeFileSync(join(disk, 'none'), '');
    await expect(bed.mount(claimingPod())).rejects.toThrow('only directory and block device are supported');
    rmSync(join(disk, 'none'));
    mkdirSync(join(disk, 'none'));
    await bed.mount(claimingPod());
    expect(bed.mounts()).toEqual([folderOf()]);
  });

  test('whose folder is not empty without its mount is not removed: the files may be those of the user', async () => {
    await bed.mount(claimingPod());
    run('umount', folderOf());
    writeFileSync(join(folderOf(), 'whose'), '');
    const message = 'the folder of the local volume pv-1 is not empty, it is left as it is';
    await expect(bed.manager.releaseVolumes('u-1')).rejects.toThrow(message);
    await expect(bed.manager.unmountPod('u-1')).rejects.toThrow(message);
    rmSync(join(folderOf(), 'whose'));
    await bed.manager.unmountPod('u-1');
  });
});

describeAsRoot('the group of a local volume', () => {
  beforeEach(() => {
    serveLocal();
    writeFileSync(join(bed.dir, 'outside'), '');
    chmodSync(join(bed.dir, 'outside'), 0o600);
    symlinkSync(join(bed.dir, 'outside'), join(disk, 'link'));
    chmodSync(join(disk, 'sub'), 0o700);
    chmodSync(join(disk, 'sub', 'file'), 0o4700);
  });

  test('is the fsGroup of the pod, on all files and no further', async () => {
    await bed.mount(ofGroup(7777));
    expect([gidOf(), gidOf('sub'), gidOf('sub', 'file'), gidOf('link')]).toEqual([7777, 7777, 7777, 7777]);
    expect(modeOf(join(disk, 'sub'))).toBe('2770');
    expect(modeOf(join(disk, 'sub', 'file'))).toBe('4760');
    expect(statSync(join(bed.dir, 'outside')).gid).toBe(0);
    expect(modeOf(join(bed.dir, 'outside'))).toBe('600');
    expect(readlinkSync(join(disk, 'link'))).toBe(join(bed.dir, 'outside'));
  });

  test('stays below a right root with OnRootMismatch', async () => {
    chownSync(disk, 0, 7777);
    chmodSync(disk, 0o2770);
    await bed.mount(ofGroup(7777, 'OnRootMismatch'));
    expect(gidOf('sub')).toBe(0);
  });

  test('is set by the first of two pods; another group than the first one is reported', async () => {
    const second = withUID(ofGroup(8888), 'u-2');
    await Promise.all([bed.mount(ofGroup(7777)), bed.mount(second)]);
    // Which of the two is the first is chance: each reads its claim before.
    const [first, other] = gidOf() === 7777 ? [7777, 8888] : [8888, 7777];
    expect(new Set([gidOf(), gidOf('sub'), gidOf('sub', 'file')])).toEqual(new Set([first]));
    expect(bed.events).toEqual([
      `AlreadyMountedVolume: The requested fsGroup is ${other}, but the volume pv-1 has GID ${first}. The volume may not be shareable.`,
    ]);
    expect(bed.mounts()).toEqual(expect.arrayContaining([folderOf(), folderOf('u-2')]));
  });

  test('is left to the mounts below the folder', async () => {
    mkdirSync(join(disk, 'other'));
    run('mount', '-t', 'tmpfs', 'tmpfs', join(disk, 'other'));
    writeFileSync(join(disk, 'other', 'file'), '');
    await bed.mount(ofGroup(7777));
    expect([gidOf('sub'), gidOf('other', 'file')]).toEqual([7777, 0]);
  });

  test('is not changed any further for a pod that is being ended', async () => {
    const ending = new AbortController();
    const mounting = bed.mount(ofGroup(7777), ending.signal);
    ending.abort(new Error('the pod ends'));
    await expect(mounting).rejects.toThrow('the pod ends');
    expect(bed.mounts()).toEqual([]);
    await bed.mount(ofGroup(7777));
    expect(gidOf()).toBe(7777);
  });
});

describeAsRoot('a volume for one pod', () => {
  test('is refused to another pod until the first one is gone', async () => {
    serveLocal({ accessModes: ['ReadWriteOncePod'] });
    const second = withUID(claimingPod(), 'u-2');
    await bed.mount(claimingPod());
    await expect(bed.mount(second)).rejects.toThrow('already in use by another pod');
    await bed.manager.releaseVolumes('u-1');
    await bed.mount(second);
    expect(bed.mounts()).toEqual([folderOf('u-2')]);
  });
});

test('a hostPath is mounted from where it is, checked, and keeps its group', async () => {
  serve({ hostPath: { path: join(disk, 'sub'), type: 'Directory' } });
  const pod = ofGroup(7777);
  await bed.mount(pod);
  expect(await bed.volumeMounts(pod)).toMatchObject([{ hostPath: join(disk, 'sub'), readonly: false }]);
  expect(gidOf('sub')).not.toBe(7777);
});

test('a pod waits for its claim, and goes on when it is bound', async () => {
  serveLocal();
  const bound = found;
  found = { ...bound, claim: claim({ status: { phase: 'Pending' } }) };
  await expect(bed.mount(claimingPod())).rejects.toThrow(
    /^Unable to attach or mount volumes: unmounted volumes=\[data\], unattached volumes=\[\], failed to process volumes=\[data\]: error processing PVC \w+\/orders: PVC is not bound$/u,
  );
  expect(asked).toEqual(['orders']);
  found = { ...bound, volume: persistentVolume({ hostPath: { path: disk } }) };
  await bed.mount(claimingPod());
  expect(await bed.volumeMounts(claimingPod())).toMatchObject([{ hostPath: disk }]);
  await bed.manager.unmountPod('u-1');
  expect(readdirSync(disk)).toEqual(['sub']);
});
