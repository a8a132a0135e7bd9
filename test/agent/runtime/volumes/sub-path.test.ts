import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { describeAsRoot, modeOf, podWith, run, VolumeBed } from './bed.ts';

let bed: VolumeBed;
let volume: string;
beforeEach(() => {
  bed = new VolumeBed();
  volume = join(bed.dir, 'volume');
  mkdirSync(volume);
  mkdirSync(join(bed.dir, 'outside'));
  writeFileSync(join(bed.dir, 'outside/secret'), 'secret');
});
afterEach(() => bed.remove());

const withSubPath = (subPath: string): Pod => podWith([{ hostPath: { path: volume } }], {}, { subPath });
const target = () => join(bed.podDir(), 'volume-subpaths/v0/main/0');
const REFUSED = 'failed to prepare subPath for volumeMount "v0" of container "main"';

describeAsRoot('a subPath', () => {
  test('is bind-mounted in a folder that no container can reach, and the container mounts that folder', async () => {
    mkdirSync(join(volume, 'a/b'), { recursive: true });
    writeFileSync(join(volume, 'a/b/file'), 'x');
    await bed.mount(withSubPath('a/b'));
    expect(await bed.volumeMounts(withSubPath('a/b'))).toMatchObject([
      { containerPath: '/data0', hostPath: target() },
    ]);
    expect(readFileSync(join(target(), 'file'), 'utf8')).toBe('x');
    expect(bed.mounts()).toEqual([target()]);
  });

  test('may be a file', async () => {
    writeFileSync(join(volume, 'file'), 'x');
    await bed.volumeMounts(withSubPath('file'));
    expect(readFileSync(target(), 'utf8')).toBe('x');
  });

  test('may be the whole volume', async () => {
    writeFileSync(join(volume, 'file'), 'x');
    const mounts = [{ hostPath: target() }];
    expect(await bed.volumeMounts(withSubPath('.'))).toMatchObject(mounts);
    expect(await bed.volumeMounts(withSubPath('.'))).toMatchObject(mounts);
    expect(readFileSync(join(target(), 'file'), 'utf8')).toBe('x');
    expect(bed.mounts()).toEqual([target()]);
    await bed.manager.unmountPod('u-1');
    expect([existsSync(target()), readdirSync(volume)]).toEqual([false, ['file']]);
  });

  test('may be a pipe, which is not opened', async () => {
    run('mkfifo', join(volume, 'pipe'));
    await bed.volumeMounts(withSubPath('pipe'));
    expect(statSync(target()).isFIFO()).toBe(true);
  });

  test("is created if it is missing, with the mode of the volume's root", async () => {
    chmodSync(volume, 0o2777);
    mkdirSync(join(volume, 'a'), { mode: 0o755 });
    await bed.volumeMounts(withSubPath('a/b/c'));
    expect(['a', 'a/b', 'a/b/c'].map((path) => modeOf(join(volume, path)))).toEqual(['2755', '2777', '2777']);
    expect(modeOf(target())).toBe('2777');
  });

  test('belongs to the fsGroup if it is created in an emptyDir', async () => {
    const spec = { securityContext: { fsGroup: 2345 } };
    const pod = podWith([{ emptyDir: {} }], spec, { subPathExpr: 'logs/$(POD)' });
    await bed.mount(pod);
    await bed.volumeMounts(pod, { env: new Map([['POD', 'web-0']]) });
    const made = join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v0/logs/web-0');
    expect([modeOf(made), statSync(made).gid]).toEqual(['2777', 2345]);
    expect(statSync(target()).ino).toBe(statSync(made).ino);
  });

  test('in a downwardAPI volume is the file itself, behind its links', async () => {
    const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
    const pod = podWith([{ downwardAPI: { items } }], {}, { subPath: 'name' });
    await bed.mount(pod);
    expect(await bed.volumeMounts(pod)).toMatchObject([{ hostPath: target(), readonly: true }]);
    expect(readFileSync(target(), 'utf8')).toBe('web');
  });

  test('stays mounted for the next instance, also after a restart of the agent', async () => {
    await bed.volumeMounts(withSubPath('a'));
    bed.newManager();
    await bed.volumeMounts(withSubPath('a'));
    expect(bed.mounts()).toEqual([target()]);
  });

  test('is mounted again if another folder has replaced it', async () => {
    await bed.volumeMounts(withSubPath('a'));
    renameSync(join(volume, 'a'), join(volume, 'old'));
    writeFileSync(join(volume, 'a'), 'a file now');
    await bed.volumeMounts(withSubPath('a'));
    expect(readFileSync(target(), 'utf8')).toBe('a file now');
    expect(bed.mounts()).toEqual([target()]);
  });

  test('is mounted if a killed agent had only created the mount point', async () => {
    mkdirSync(target(), { recursive: true });
    await bed.volumeMounts(withSubPath('a'));
    expect(bed.mounts()).toEqual([target()]);
  });

  test('is mounted for every volume mount with a subPath', async () => {
    const pod = withSubPath('a');
    const [mount] = pod.spec.containers[0]!.volumeMounts!;
    const volumeMounts = [mount!, { ...mount!, mountPath: '/data9', subPath: 'b' }];
    await bed.volumeMounts(pod, { container: { name: 'side', volumeMounts } });
    const places = join(bed.podDir(), 'volume-subpaths/v0/side');
    expect(readdirSync(places)).toEqual(['0', '1']);
    expect(bed.mounts()).toHaveLength(2);
  });
});

describeAsRoot('a symbolic link in a volume', () => {
  test('is followed within the volume', async () => {
    mkdirSync(join(volume, 'real'));
    symlinkSync('real', join(volume, 'link'));
    await bed.volumeMounts(withSubPath('link/made'));
    expect(statSync(target()).ino).toBe(statSync(join(volume, 'real/made')).ino);
  });

  test.each([
    ['absolute', '/etc'],
    ['relative', '../outside'],
    ['to the volume itself and out of it', '../volume/../outside'],
    ['to the root', '/'],
    ['to a process', '/proc/self/root'],
  ])('is refused if it leads out of the volume: %s', async (_, to) => {
    symlinkSync(to, join(volume, 'link'));
    for (const subPath of ['link', 'link/secret', 'link/made']) {
      await expect(bed.volumeMounts(withSubPath(subPath))).rejects.toMatchObject({
        kind: 'FailedPrecondition',
        message: REFUSED,
      });
    }
    expect(bed.mounts()).toEqual([]);
    expect(readdirSync(join(bed.dir, 'outside'))).toEqual(['secret']);
  });

  test('that is dangling is refused, and its target is not created', async () => {
    symlinkSync('../outside/made', join(volume, 'link'));
    await expect(bed.volumeMounts(withSubPath('link'))).rejects.toThrow(REFUSED);
    await expect(bed.volumeMounts(withSubPath('link/x'))).rejects.toThrow(REFUSED);
    expect(readdirSync(join(bed.dir, 'outside'))).toEqual(['secret']);
  });

  test('that leads to itself is an error', async () => {
    symlinkSync('link', join(volume, 'link'));
    await expect(bed.volumeMounts(withSubPath('link'))).rejects.toThrow(REFUSED);
  });

  test('has its target in the log, but not in the message for the user', async () => {
    symlinkSync('/etc', join(volume, 'link'));
    await expect(bed.volumeMounts(withSubPath('link'))).rejects.toThrow(REFUSED);
    expect(bed.warnings).toEqual([`${REFUSED}: /etc is outside of the volume ${volume}`]);
  });
});

test.each(['../x', '/etc', 'a/../../b'])(
  'subPath %s is refused before any access to the disk',
  async (subPath) => {
    await expect(bed.volumeMounts(withSubPath(subPath))).rejects.toMatchObject({ kind: 'InvalidArgument' });
    expect(existsSync(join(bed.podDir(), 'volume-subpaths'))).toBe(false);
  },
);
