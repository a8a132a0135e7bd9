import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { outputAsNobody } from '../../../support/as-nobody.ts';
import { testPod } from '../../../support/pods.ts';
import { describeAsRoot, POD_IP, podWith, run, VolumeBed } from './bed.ts';

describe('volume manager', () => {
  let bed: VolumeBed;
  beforeEach(() => void (bed = new VolumeBed()));
  afterEach(() => bed.remove());

  const POD = testPod({ uid: 'u-1' });

  describe('a container of a pod without volumes', () => {
    test('has only its hosts file and its file for the termination message', async () => {
      await bed.mount(POD);
      expect([...(await bed.containerMounts(POD)), ...(await bed.terminationMount(POD))]).toEqual([
        {
          containerPath: '/etc/hosts',
          hostPath: join(bed.podDir(), 'etc-hosts'),
          readonly: false,
          selinuxRelabel: true,
          propagation: 'PROPAGATION_PRIVATE',
        },
        {
          containerPath: '/dev/termination-log',
          hostPath: join(bed.podDir(), 'containers/main/00000000'),
          readonly: false,
          selinuxRelabel: true,
          propagation: 'PROPAGATION_PRIVATE',
        },
      ]);
      expect(readdirSync(bed.podDir()).sort()).toEqual(['containers', 'etc-hosts']);
    });

    test('has neither if it mounts /etc/hosts itself and has no termination message path', async () => {
      const container = {
        name: 'main',
        terminationMessagePath: '',
        volumeMounts: [{ name: 'hosts', mountPath: '/etc/hosts' }],
      };
      const volumes = [{ name: 'hosts', hostPath: { path: '/etc/hosts' } }];
      const pod = { ...POD, spec: { ...POD.spec, volumes } };
      expect(await bed.containerMounts(pod, { container })).toMatchObject([
        { containerPath: '/etc/hosts', hostPath: '/etc/hosts' },
      ]);
      expect(await bed.terminationMount(pod, { container })).toEqual([]);
    });
  });

  describe('the hosts file', () => {
    beforeEach(() => bed.mount(POD));

    const file = () => join(bed.podDir(), 'etc-hosts');

    test('is written on every start, into the file that running containers have mounted', async () => {
      await bed.containerMounts(POD);
      expect(readFileSync(file(), 'utf8')).toContain(`${POD_IP}\tweb\n`);
      expect(statSync(file()).mode & 0o777).toBe(0o644);
      const { ino } = statSync(file());
      writeFileSync(file(), 'spoilt by a container, and longer than it was before '.repeat(20));
      await bed.containerMounts(POD);
      expect(readFileSync(file(), 'utf8')).toMatch(/^# Kubernetes-managed hosts file\.\n/);
      expect(readFileSync(file(), 'utf8')).not.toContain('spoilt');
      expect(statSync(file()).ino).toBe(ino);
    });

    test('follows a new address of the pod', async () => {
      await bed.containerMounts(POD);
      await bed.containerMounts(POD, { podIPs: ['10.1.0.6'] });
      expect(readFileSync(file(), 'utf8')).toContain('10.1.0.6\tweb\n');
      expect(readFileSync(file(), 'utf8')).not.toContain(POD_IP);
    });

    test('with hostNetwork it is the hosts file of the node, with the aliases', async () => {
      const hostAliases = [{ ip: '10.9.9.9', hostnames: ['db'] }];
      await bed.containerMounts({ ...POD, spec: { ...POD.spec, hostNetwork: true, hostAliases } });
      const text = readFileSync(file(), 'utf8');
      expect(text).toContain(readFileSync('/etc/hosts', 'utf8'));
      expect(text).toMatch(/10\.9\.9\.9\tdb\n$/);
    });
  });

  describe('the file for the termination message', () => {
    beforeEach(() => bed.mount(POD));

    const folder = () => join(bed.podDir(), 'containers/main');

    test('is empty and writable for every user; each instance has its own file', async () => {
      for (const attempt of [0, 1, 255]) await bed.terminationMount(POD, { attempt });
      expect(readdirSync(folder()).sort()).toEqual(['00000000', '00000001', '000000ff']);
      for (const name of readdirSync(folder())) {
        const { mode, size } = statSync(join(folder(), name));
        expect([mode & 0o777, size]).toEqual([0o666, 0]);
      }
    });

    test('is empty again if an attempt is repeated', async () => {
      await bed.terminationMount(POD);
      writeFileSync(join(folder(), '00000000'), 'of a start that failed');
      await bed.terminationMount(POD);
      expect(statSync(join(folder(), '00000000')).size).toBe(0);
    });

    test('is removed for old instances', async () => {
      for (let attempt = 0; attempt < 10; attempt++) await bed.terminationMount(POD, { attempt });
      expect(readdirSync(folder()).sort()).toEqual(['00000007', '00000008', '00000009']);
    });

    test('is not created before the other mounts of the container; its folder is only the agent’s', async () => {
      await bed.containerMounts(POD);
      expect(readdirSync(folder())).toEqual([]);
      await bed.terminationMount(POD);
      expect(readdirSync(folder())).toEqual(['00000000']);
      expect(statSync(folder()).mode & 0o777).toBe(0o750);
    });

    test('is mounted at the termination message path', async () => {
      const container = { name: 'main', terminationMessagePath: '/tmp/bye' };
      expect(await bed.terminationMount(POD, { container })).toMatchObject([{ containerPath: '/tmp/bye' }]);
    });
  });

  test('a mount that names no volume is an error that names both', async () => {
    const container = { name: 'main', volumeMounts: [{ name: 'nope', mountPath: '/x' }] };
    await expect(bed.containerMounts(POD, { container })).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: 'cannot find volume "nope" to mount into container "main"',
    });
  });

  /** Mounts a pod whose volumes lead out of its folder, by a hostPath and by a link. Resolves to their target. */
  async function mountedWithWaysOut(): Promise<string> {
    const outside = join(bed.dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'kept'), '');
    await bed.mount(podWith([{ emptyDir: {} }, { hostPath: { path: outside } }]));
    symlinkSync(outside, join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v0/link'));
    return outside;
  }

  describe('removing a pod', () => {
    test('removes its folder, if there is one', async () => {
      await bed.mount(POD);
      await bed.containerMounts(POD);
      await bed.manager.unmountPod('u-1');
      expect(readdirSync(join(bed.rootDir, 'pods'))).toEqual([]);
      await bed.manager.unmountPod('u-1');
      await bed.manager.unmountPod('never-seen');
    });

    test("never touches what a volume's link or a hostPath leads to", async () => {
      const outside = await mountedWithWaysOut();
      await bed.manager.unmountPod('u-1');
      expect(readdirSync(outside)).toEqual(['kept']);
      expect(existsSync(bed.podDir())).toBe(false);
    });

    test('leaves other pods alone, also those with a similar name', async () => {
      await bed.mount(POD);
      await bed.mount(testPod({ uid: 'u-12' }));
      await bed.manager.unmountPod('u-1');
      expect(await bed.manager.podsOnDisk()).toEqual(['u-12']);
    });
  });

  describeAsRoot("releasing a pod's volumes", () => {
    test('creates nothing if there are no volumes, as the disk may be full', async () => {
      await bed.manager.releaseVolumes('u-1');
      await bed.manager.unmountPod('u-1');
      expect(existsSync(bed.rootDir)).toBe(false);
    });

    test('removes the volumes and keeps the termination messages; a pod without volumes is no error', async () => {
      const pod = podWith([{ emptyDir: {} }, { downwardAPI: { items: [] } }]);
      await bed.mount(pod);
      await bed.containerMounts(pod);
      const file = (await bed.terminationMount(pod))[0]?.hostPath ?? '';
      writeFileSync(file, 'last words');
      await bed.manager.releaseVolumes('u-1');
      expect(readdirSync(bed.podDir()).sort()).toEqual(['containers', 'etc-hosts']);
      expect(readFileSync(file, 'utf8')).toBe('last words');
      await bed.manager.releaseVolumes('u-1');
      await bed.manager.releaseVolumes('never-seen');
      expect(await bed.manager.podsOnDisk()).toEqual(['u-1']);
      await bed.manager.unmountPod('u-1');
      expect(existsSync(bed.podDir())).toBe(false);
    });

    test("never touches what a volume's link or a hostPath leads to", async () => {
      const outside = await mountedWithWaysOut();
      await bed.manager.releaseVolumes('u-1');
      expect(readdirSync(outside)).toEqual(['kept']);
    });
  });

  test('podsOnDisk lists the pods with a folder, and no pods if there is no such folder', async () => {
    expect(await bed.manager.podsOnDisk()).toEqual([]);
    for (const uid of ['a', 'b']) await bed.mount(testPod({ uid }));
    writeFileSync(join(bed.rootDir, 'pods/file'), '');
    symlinkSync(bed.rootDir, join(bed.rootDir, 'pods/link'));
    expect([...(await bed.manager.podsOnDisk())].sort()).toEqual(['a', 'b']);
  });

  describeAsRoot('releasing volumes with mounts', () => {
    const volumes = [{ emptyDir: { medium: 'Memory' } }, { emptyDir: {} }];

    test('unmounts all of them, also after a restart of the agent; the pod can mount them again', async () => {
      const pod = podWith(volumes, {}, { subPath: 'part' });
      for (let time = 0; time < 2; time++) {
        await bed.mount(pod);
        await bed.volumeMounts(pod);
        expect(bed.mounts()).toHaveLength(3);
        await bed.newManager().releaseVolumes('u-1');
        expect(bed.mounts()).toEqual([]);
        expect(readdirSync(bed.podDir())).not.toContain('volumes');
      }
    });

    test('keeps a volume in use and names it, and releases it when it is free', async () => {
      await bed.mount(podWith(volumes));
      const busy = join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v0');
      const file = openSync(join(busy, 'in-use'), 'w');
      try {
        const message = expect.stringMatching(
          /^still mounted, it is tried again: .*empty-dir\/v0: .*target is busy/,
        );
        await expect(bed.manager.releaseVolumes('u-1')).rejects.toMatchObject({ kind: 'Internal', message });
        expect(readdirSync(busy)).toEqual(['in-use']);
      } finally {
        closeSync(file);
      }
      await bed.manager.releaseVolumes('u-1');
      expect([bed.mounts(), existsSync(join(bed.podDir(), 'volumes'))]).toEqual([[], false]);
    });
  });

  describeAsRoot('removing a pod with mounts', () => {
    const SUB_PATH = { subPath: 'part' };

    test('unmounts all its volumes, also after a restart of the agent, and changes no files outside', async () => {
      const host = join(bed.dir, 'host');
      mkdirSync(join(host, 'part'), { recursive: true });
      writeFileSync(join(host, 'part/kept'), '');
      const volumes = [
        { emptyDir: { medium: 'Memory' } },
        { emptyDir: {} },
        { hostPath: { path: host } },
        { hostPath: { path: host } },
      ];
      const pod = podWith(volumes, {}, SUB_PATH);
      await bed.mount(pod);
      await bed.volumeMounts(pod);
      expect(bed.mounts()).toHaveLength(5);
      await bed.newManager().unmountPod('u-1');
      expect(bed.mounts()).toEqual([]);
      expect(existsSync(bed.podDir())).toBe(false);
      expect(readdirSync(join(host, 'part'))).toEqual(['kept']);
    });

    test('unmounts several mounts on one path, and mounts that a container has left in a shared volume', async () => {
      const pod = podWith([{ emptyDir: {} }]);
      await bed.mount(pod);
      const folder = join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v0');
      for (const name of ['left behind', 'left behind/deeper', 'left behind/deeper']) {
        mkdirSync(join(folder, name), { recursive: true });
        run('mount', '-t', 'tmpfs', 'tmpfs', join(folder, name));
      }
      await bed.manager.unmountPod('u-1');
      expect([bed.mounts(), existsSync(bed.podDir())]).toEqual([[], false]);
    });

    test('keeps its files while a volume is in use, and removes them when it is free', async () => {
      const host = join(bed.dir, 'host');
      mkdirSync(join(host, 'part'), { recursive: true });
      const pod = podWith([{ emptyDir: { medium: 'Memory' } }, { hostPath: { path: host } }]);
      await bed.mount(pod);
      const busy = join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v0');
      const file = openSync(join(busy, 'in-use'), 'w');
      try {
        await expect(bed.manager.unmountPod('u-1')).rejects.toMatchObject({
          kind: 'Internal',
          message: expect.stringMatching(
            /^still mounted, it is tried again: .*kubernetes\.io~empty-dir\/v0: umount: .*target is busy/,
          ),
        });
        expect(readdirSync(busy)).toEqual(['in-use']);
        expect(await bed.manager.podsOnDisk()).toEqual(['u-1']);
      } finally {
        closeSync(file);
      }
      await bed.manager.unmountPod('u-1');
      expect(existsSync(bed.podDir())).toBe(false);
    });

    test('works for many pods at once, while other pods are mounted', async () => {
      const pod = (uid: string) => {
        const inMemory = podWith([{ emptyDir: { medium: 'Memory' } }]);
        return { ...inMemory, metadata: { ...inMemory.metadata, uid } };
      };
      const going = Array.from({ length: 8 }, (_, i) => `going-${i}`);
      const coming = Array.from({ length: 8 }, (_, i) => `coming-${i}`);
      await Promise.all(going.map((uid) => bed.mount(pod(uid))));
      await Promise.all([
        ...going.map((uid) => bed.manager.unmountPod(uid)),
        ...coming.map(async (uid) => {
          await bed.mount(pod(uid));
          await bed.manager.unmountPod(uid);
        }),
      ]);
      expect(bed.mounts()).toEqual([]);
      expect(await bed.manager.podsOnDisk()).toEqual([]);
    });

    test('continues the unfinished removal of a killed agent', async () => {
      const pod = podWith([{ emptyDir: { medium: 'Memory' } }, { emptyDir: {} }], {}, SUB_PATH);
      await bed.mount(pod);
      await bed.volumeMounts(pod);
      const [first] = bed.mounts();
      run('umount', first ?? '');
      await bed.newManager().unmountPod('u-1');
      expect([bed.mounts(), existsSync(bed.podDir())]).toEqual([[], false]);
    });

    test('without the permission to change the group of files there is a warning, and the pod starts', () => {
      const folder = join(bed.dir, 'as-nobody');
      mkdirSync(folder);
      chmodSync(folder, 0o777);
      chmodSync(bed.dir, 0o755);
      const module = new URL('../../../../src/agent/runtime/volumes/volume-manager.ts', import.meta.url).href;
      const script = `
      const logger = { warn: (_, message) => console.log(message) };
      const context = { clock: { now: Date.now, setTimeout, clearTimeout }, recorder: {}, logger };
      const parts = { rootDir: ${JSON.stringify(folder)}, allocatable: {}, clusterDomain: '' };
      const pod = ${JSON.stringify(podWith([{ emptyDir: {} }], { securityContext: { fsGroup: 2345 } }))};
      await new own.VolumeManager(context, parts).mountPod(pod, new AbortController().signal);`;
      expect(outputAsNobody(module, script)).toMatch(/^cannot give a volume to its owner: EPERM/);
      expect(existsSync(join(folder, 'pods/u-1/volumes/kubernetes.io~empty-dir/v0'))).toBe(true);
    });
  });
});
