import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseMountInfo } from '../../../../../src/agent/policies/formats/mountinfo.ts';
import { describeAsRoot, modeOf, podWith, run, VolumeBed } from '../bed.ts';

let bed: VolumeBed;
beforeEach(() => void (bed = new VolumeBed()));
afterEach(() => bed.remove());

const folderOf = (name = 'v0') => join(bed.podDir(), 'volumes/kubernetes.io~empty-dir', name);

describe('on the disk', () => {
  const pod = podWith([{ emptyDir: {} }]);

  test('it is a folder at the path of the kubelet, and every user may write it', async () => {
    await bed.mount(pod);
    expect(modeOf(folderOf())).toBe('777');
    expect(await bed.volumeMounts(pod)).toEqual([
      {
        containerPath: '/data0',
        hostPath: folderOf(),
        readonly: false,
        recursiveReadOnly: false,
        propagation: 'PROPAGATION_PRIVATE',
        selinuxRelabel: true,
      },
    ]);
    expect(modeOf(join(bed.podDir(), 'volumes'))).toBe('750');
    expect(modeOf(join(bed.podDir(), 'volumes/kubernetes.io~empty-dir'))).toBe('755');
    expect(modeOf(bed.podDir())).toBe('750');
  });

  test('changes by a container stay, also after a restart of the agent', async () => {
    await bed.mount(pod);
    writeFileSync(join(folderOf(), 'kept'), 'x');
    chmodSync(folderOf(), 0o700);
    await bed.newManager().mountPod(pod, new AbortController().signal);
    expect(readdirSync(folderOf())).toEqual(['kept']);
    expect(modeOf(folderOf())).toBe('700');
  });

  test('an unfinished folder of a killed agent is finished', async () => {
    mkdirSync(join(folderOf(), '../.v0'), { recursive: true, mode: 0o700 });
    await bed.mount(pod);
    expect(readdirSync(join(folderOf(), '..'))).toEqual(['v0']);
    expect(modeOf(folderOf())).toBe('777');
  });

  test('a volume that no container mounts is not created', async () => {
    await bed.mount({ ...pod, spec: { ...pod.spec, containers: [{ name: 'main' }] } });
    expect(readdirSync(bed.podDir())).toEqual([]);
  });

  test('an unknown medium fails with the error of the kubelet', async () => {
    const wrong = podWith([{ emptyDir: { medium: 'HugePages' } }, { nfs: { server: 's', path: '/' } }]);
    await expect(bed.mount(wrong)).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message:
        'MountVolume.SetUp failed for volume "v0" : emptyDir.medium HugePages: no container requests hugepages-SIZE; ' +
        'MountVolume.SetUp failed for volume "v1" : a volume of nfs is not supported; there are emptyDir, hostPath, downwardAPI, projected, configMap, secret, image, csi, persistentVolumeClaim, ephemeral',
    });
  });

  test.each(['..', 'a/b', ''])('a volume or pod named %j gets no folder', async (name) => {
    const named = podWith([{ emptyDir: {}, name } as object]);
    await expect(bed.mount(named)).rejects.toThrow('cannot be the name of a folder');
    await expect(bed.manager.unmountPod(name)).rejects.toThrow('cannot be the name of a folder');
  });
});

describeAsRoot('an emptyDir with rights and mounts', () => {
  test('gets the fsGroup, and so do new files in it', async () => {
    await bed.mount(podWith([{ emptyDir: {} }], { securityContext: { fsGroup: 2345 } }));
    expect(modeOf(folderOf())).toBe('2777');
    mkdirSync(join(folderOf(), 'sub'));
    expect(statSync(join(folderOf(), 'sub')).gid).toBe(2345);
  });

  const inMemory = podWith([{ emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } }], {
    securityContext: { fsGroup: 2345 },
  });

  test('in memory is a tmpfs of its size, mode and group', async () => {
    await bed.mount(inMemory);
    const { bsize, blocks } = statfsSync(folderOf());
    expect(bsize * blocks).toBe(64 * 1024);
    expect([modeOf(folderOf()), statSync(folderOf()).gid]).toEqual(['3777', 2345]);
    expect(() => writeFileSync(join(folderOf(), 'big'), Buffer.alloc(65 * 1024))).toThrow('ENOSPC');
  });

  test('in memory is mounted once, also after a restart of the agent', async () => {
    await bed.mount(inMemory);
    writeFileSync(join(folderOf(), 'kept'), 'x');
    await bed.mount(inMemory);
    await bed.newManager().mountPod(inMemory, new AbortController().signal);
    expect(bed.mounts()).toEqual([folderOf()]);
    expect(readFileSync(join(folderOf(), 'kept'), 'utf8')).toBe('x');
  });

  test('in memory is mounted again after a restart of the node', async () => {
    await bed.mount(inMemory);
    run('umount', folderOf());
    bed.newManager();
    await bed.mount(inMemory);
    expect(bed.mounts()).toEqual([folderOf()]);
  });

  const hugePages = existsSync('/sys/kernel/mm/hugepages/hugepages-2048kB');
  (hugePages ? test : test.skip)('in huge pages is a hugetlbfs', async () => {
    const pod = podWith([{ emptyDir: { medium: 'HugePages' } }]);
    const [container] = pod.spec.containers;
    const resources = { limits: { 'hugepages-2Mi': '2Mi' } };
    await bed.mount({ ...pod, spec: { ...pod.spec, containers: [{ ...container!, resources }] } });
    expect(statfsSync(folderOf()).bsize).toBe(2 * 2 ** 20);
    expect(modeOf(folderOf())).toBe('777');
  });

  test.each(['HostToContainer', 'Bidirectional'])(
    'shares its mounts if a container has mountPropagation %s',
    async (mountPropagation) => {
      const pod = podWith([{ emptyDir: {} }, { emptyDir: { medium: 'Memory' } }], {}, { mountPropagation });
      const container = { ...pod.spec.containers[0]!, securityContext: { privileged: true } };
      await bed.mount(pod);
      writeFileSync(join(folderOf(), 'kept'), 'x');
      for (let i = 0; i < 2; i++) {
        await bed.volumeMounts(pod, { container });
        const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
        const shared = mounts.filter((mount) => mount.path.includes('statelet volumes') && mount.shared);
        expect(shared).toHaveLength(2);
      }
      expect(readdirSync(folderOf())).toEqual(['kept']);
      await bed.manager.unmountPod('u-1');
      expect(existsSync(bed.podDir())).toBe(false);
    },
  );
});
