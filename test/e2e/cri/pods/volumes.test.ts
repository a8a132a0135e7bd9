/** Volumes inside containers: content, owner and permissions, and their removal with the pod. */
import { execFileSync } from 'node:child_process';
import {
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
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { mountsBelow } from '../../../support/containerd/wipe.ts';
import { SERVING } from '../../../support/cri-daemon.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { containerStatus, NODE_NAME } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];
type VolumeMount = NonNullable<Container['volumeMounts']>[number];
type Mounted = Volume & { readonly mount?: Partial<VolumeMount> };

describeOnDaemon('volumes of real containers', ({ bed, daemon }) => {
  const podDir = ({ metadata }: Pod) => join(bed.rootDir, 'pods', metadata.uid);
  const volumeDir = (pod: Pod, kind: string, name: string) =>
    join(podDir(pod), `volumes/kubernetes.io~${kind}`, name);
  /** Runs a shell script in a container; resolves to the lines that it writes. */
  const sh = async (pod: Pod, script: string, container = 'main') =>
    (await bed.exec(pod, ['sh', '-c', `{ ${script}; } 2>&1; true`], container)).trimEnd().split('\n');
  /** A folder of the node for mounts of the test. It is removed with the bed. */
  const onNode = (name: string) => join(bed.dir, name);
  const gone = (pod: Pod) =>
    waitFor(() => !existsSync(podDir(pod)), {
      what: 'the folder of the pod to go',
    });

  /** Applies a pod of one container that mounts the volumes at `/<name>`. */
  function podWith(
    name: string,
    volumes: readonly Mounted[],
    { main = {}, ...spec }: Partial<PodSpec> & { readonly main?: Partial<Container> } = {},
    metadata: Partial<Pod['metadata']> = {},
  ): void {
    const volumeMounts = volumes.map(({ name: volume, mount = {} }) => ({
      name: volume,
      mountPath: `/${volume}`,
      ...mount,
    }));
    const plain = volumes.map((volume) => ({ ...volume, mount: undefined }));
    bed.apply(
      name,
      { volumes: plain, containers: [bed.server({ volumeMounts, ...main })], ...spec },
      metadata,
    );
  }

  test('an emptyDir is shared by all containers, outlives each of them, and is removed with the pod', async () => {
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      { name: 'unused', emptyDir: {} },
    ];
    const volumeMounts = ['disk', 'memory'].map((name) => ({ name, mountPath: `/${name}` }));
    const script = `echo start >> /disk/starts; echo start >> /memory/starts
      if [ ! -e /disk/again ]; then while [ ! -e /disk/crash ]; do sleep 0.05; done; touch /disk/again; exit 1; fi
      ${SERVING}`;
    bed.apply('shared', {
      volumes,
      containers: [bed.shell(script, { volumeMounts }), bed.server({ name: 'other', volumeMounts })],
    });
    let pod = await daemon.running('shared');
    await sh(pod, 'echo secret > /disk/from-other; touch /disk/crash', 'other');
    pod = await daemon.until('shared', 'running again', (found) => {
      const status = containerStatus(found);
      return status?.restartCount === 1 && status.state?.running !== undefined;
    });
    expect(await sh(pod, 'cat /disk/starts /memory/starts /disk/from-other')).toEqual([
      ...['start', 'start'],
      ...['start', 'start'],
      'secret',
    ]);

    const mounted = await sh(pod, 'grep " /memory " /proc/mounts');
    expect(mounted).toEqual([expect.stringMatching(/^tmpfs \/memory tmpfs rw,.*size=1024k/)]);
    expect(await sh(pod, 'dd if=/dev/zero of=/memory/more bs=1M count=2')).toContain(
      "dd: error writing '/memory/more': No space left on device",
    );
    const disk = volumeDir(pod, 'empty-dir', 'disk');
    expect(readFileSync(join(disk, 'from-other'), 'utf8')).toBe('secret\n');
    expect(statSync(disk).mode & 0o7777).toBe(0o777);
    expect(readdirSync(dirname(disk)).sort()).toEqual(['disk', 'memory']);
    expect(mountsBelow(podDir(pod))).toEqual([volumeDir(pod, 'empty-dir', 'memory')]);

    bed.withdraw('shared');
    await gone(pod);
    expect(mountsBelow(podDir(pod))).toEqual([]);
  });

  test('hostPath volumes of every type show the path of the node', async () => {
    const dir = onNode('present');
    mkdirSync(dir);
    writeFileSync(join(dir, 'file'), 'from the node');
    const socket = createServer().listen(join(dir, 'socket'));
    execFileSync('mknod', [join(dir, 'block'), 'b', '7', '200']);
    const volume = (name: string, type: string, path: string, mount = {}) => ({
      name,
      hostPath: { path: join(dir, path), type },
      mount,
    });
    try {
      podWith('host-paths', [
        volume('any', '', 'made-by-the-runtime'),
        volume('folder', 'Directory', '.'),
        volume('new-folder', 'DirectoryOrCreate', 'new/folder'),
        volume('file', 'File', 'file'),
        volume('new-file', 'FileOrCreate', 'new-file'),
        volume('socket', 'Socket', 'socket'),
        { name: 'device', hostPath: { path: '/dev/null', type: 'CharDevice' } },
        volume('block', 'BlockDevice', 'block'),
        volume('read-only', 'Directory', '.', { readOnly: true }),
      ]);
      const pod = await daemon.running('host-paths');
      const checks = [
        '-d /any',
        '-d /new-folder',
        '-f /file',
        '-f /new-file',
        '-S /socket',
        '-c /device',
        '-b /block',
      ];
      for (const check of checks)
        expect([check, await sh(pod, `test ${check} && echo yes`)]).toEqual([check, ['yes']]);
      expect(
        await sh(pod, 'cat /file; echo; echo more >> /file; touch /read-only/x; cat /read-only/file'),
      ).toEqual(['from the node', 'touch: /read-only/x: Read-only file system', 'from the nodemore']);
      expect(existsSync(volumeDir(pod, 'host-path', 'folder'))).toBe(false);
      bed.withdraw('host-paths');
      await gone(pod);
      expect(readFileSync(join(dir, 'file'), 'utf8')).toBe('from the nodemore\n');
    } finally {
      socket.close();
    }
  });

  test('a volume that cannot be mounted or unmounted delays its pod, is reported, and is tried again', async () => {
    const dir = onNode('absent');
    mkdirSync(join(dir, 'folder'), { recursive: true });
    writeFileSync(join(dir, 'plain'), '');
    podWith('busy', [{ name: 'memory', emptyDir: { medium: 'Memory' } }]);
    const cases: [string, string, string, string][] = [
      ['directory', 'Directory', 'later', 'is not a directory'],
      ['file', 'File', 'folder', 'is not a file'],
      ['socket', 'Socket', 'plain', 'is not a socket file'],
      ['char', 'CharDevice', 'plain', 'is not a character device'],
      ['block', 'BlockDevice', 'plain', 'is not a block device'],
    ];
    // The other volumes of the pod are mounted when the pod is removed.
    podWith('misfits', [
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      ...cases.map(([name, type, path]) => ({ name, hostPath: { type, path: join(dir, path) } })),
    ]);
    podWith('later', [{ name: 'data', hostPath: { type: 'Directory', path: join(dir, 'later') } }]);
    for (const [name, , path, problem] of cases) {
      const text = `MountVolume.SetUp failed for volume "${name}" : hostPath type check failed: ${join(dir, path)} ${problem}`;
      await daemon.warning(text);
    }
    await daemon.event('later', 'FailedMount');
    const pod = await daemon.inPhase('later', 'Pending');
    expect(containerStatus(pod)?.state?.waiting).toEqual({ reason: 'ContainerCreating' });
    const misfits = await daemon.inPhase('misfits', 'Pending');
    // A mount takes longer than it takes to see that the others are not what they should be.
    await waitFor(() => mountsBelow(podDir(misfits)).length > 0, {
      what: 'the mount of the volume in memory',
    });
    expect(mountsBelow(podDir(misfits))).toEqual([volumeDir(misfits, 'empty-dir', 'memory')]);
    bed.withdraw('misfits');
    await gone(misfits);
    expect(mountsBelow(podDir(misfits))).toEqual([]);

    const busy = await daemon.running('busy');
    const folder = volumeDir(busy, 'empty-dir', 'memory');
    const file = openSync(join(folder, 'in-use'), 'w');
    try {
      bed.withdraw('busy');
      await daemon.warning('still mounted, it is tried again: ', `${folder}: `, 'target is busy');
      const held = await daemon.inState('busy', 'Terminated.BackingOff');
      expect(containerStatus(held)?.state?.terminated?.exitCode).toBe(0);
    } finally {
      closeSync(file);
    }

    mkdirSync(join(dir, 'later'));
    await daemon.until('later', 'running', (found) => found.status?.phase === 'Running');
    await gone(busy);
    expect(mountsBelow(podDir(busy))).toEqual([]);
    bed.withdraw('later');
  });

  test('a user other than root can write with its fsGroup, and its new files have that group', async () => {
    const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
    podWith(
      'grouped',
      [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'info', downwardAPI: { defaultMode: 0o400, items } },
      ],
      { securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 3000, supplementalGroups: [4000] } },
    );
    const pod = await daemon.running('grouped');
    const groups = (await sh(pod, 'id -G'))[0]?.split(' ').toSorted();
    expect(groups).toEqual(expect.arrayContaining(['1000', '3000', '4000']));
    const made =
      'mkdir /disk/sub; touch /disk/sub/file /memory/file; stat -c "%u:%g %n" /disk/sub/file /memory/file';
    expect(await sh(pod, made)).toEqual(['1000:3000 /disk/sub/file', '1000:3000 /memory/file']);
    expect(
      await sh(pod, 'stat -c "%a %u:%g" /disk /memory; stat -Lc "%a %u:%g" /info/name; cat /info/name'),
    ).toEqual([...['2777 0:3000', '3777 0:3000', '440 0:3000'], `grouped-${NODE_NAME}`]);
    bed.withdraw('grouped');
  });

  test('downwardAPI and projected volumes have fields of the pod, are read-only, and follow its annotations in place', async () => {
    const field = (path: string, fieldPath: string, more = {}) => ({
      path,
      fieldRef: { fieldPath },
      ...more,
    });
    const resource = (path: string, name: string, divisor?: string) => ({
      path,
      resourceFieldRef: { containerName: 'main', resource: name, ...(divisor && { divisor }) },
    });
    const volumes: Volume[] = [
      {
        name: 'info',
        downwardAPI: {
          items: [
            field('labels', 'metadata.labels'),
            field('deep/tier', "metadata.annotations['tier']", { mode: 0o600 }),
            resource('cpu', 'limits.cpu', '1m'),
            resource('memory', 'requests.memory'),
          ],
        },
      },
      {
        name: 'mixed',
        projected: {
          defaultMode: 0o440,
          sources: [
            { downwardAPI: { items: [field('a', 'metadata.namespace')] } },
            { downwardAPI: { items: [field('b/uid', 'metadata.uid', { mode: 0o604 })] } },
          ],
        },
      },
    ];
    const uid = 'volumes-in-place';
    const main = { resources: { limits: { cpu: '250m', memory: '32Mi' } } };
    const apply = (tier: string) =>
      podWith(
        'informed',
        volumes.map((volume) => ({ ...volume })),
        { main },
        {
          uid,
          labels: { app: 'web', tier: 'front' },
          annotations: { tier },
        },
      );
    apply('gold');
    const pod = await daemon.running('informed');
    const id = bed.idOf(pod);
    expect(
      await sh(pod, 'cat /info/labels; echo; for f in deep/tier cpu memory; do cat /info/$f; echo; done'),
    ).toEqual(['app="web"', 'tier="front"', ...['gold', '250', String(32 * 1024 * 1024)]]);
    const modes =
      'stat -Lc "%a %n" /info/labels /info/deep/tier /mixed/a /mixed/b/uid; cat /mixed/a /mixed/b/uid';
    expect(await sh(pod, modes)).toEqual([
      ...['644 /info/labels', '600 /info/deep/tier', '440 /mixed/a', '604 /mixed/b/uid'],
      `default${uid}`,
    ]);
    expect(await sh(pod, 'touch /info/mine')).toEqual(['touch: /info/mine: Read-only file system']);
    expect(
      readdirSync(volumeDir(pod, 'downward-api', 'info')).filter((name) => !name.startsWith('..')),
    ).toEqual(expect.arrayContaining(['labels', 'deep', 'cpu', 'memory']));

    apply('platinum');
    await waitFor(async () => (await sh(pod, 'cat /info/deep/tier'))[0] === 'platinum', {
      what: 'the container to see the new annotation',
    });
    expect(bed.idOf(await daemon.running('informed'))).toBe(id);
    bed.withdraw('informed');
  });

  test('subPath and subPathExpr mount parts of volumes; a path out of the volume is refused', async () => {
    const dir = onNode('parts');
    mkdirSync(join(dir, 'web/conf'), { recursive: true });
    writeFileSync(join(dir, 'web/conf/app.ini'), 'x=1');
    symlinkSync('/etc', join(dir, 'escape'));
    const volumes = [
      { name: 'host', hostPath: { path: dir } },
      { name: 'own', emptyDir: {} },
    ];
    const env = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    const volumeMounts: VolumeMount[] = [
      { name: 'host', mountPath: '/conf', subPath: 'web/conf', readOnly: true },
      { name: 'host', mountPath: '/etc/app.ini', subPath: 'web/conf/app.ini' },
      { name: 'own', mountPath: '/mine', subPathExpr: 'of/$(POD)' },
      { name: 'own', mountPath: '/all' },
    ];
    bed.apply('parts', { volumes, containers: [bed.server({ volumeMounts, env })] });
    const outside = { name: 'host', mountPath: '/x', subPath: 'escape' };
    bed.apply('escape', { volumes, containers: [bed.server({ volumeMounts: [outside] })] });
    const pod = await daemon.running('parts');
    const script =
      'ls /conf; touch /conf/x; echo y=2 >> /etc/app.ini; cat /conf/app.ini; touch /mine/here; ls /all/of/*';
    expect(await sh(pod, script)).toEqual([
      ...['app.ini', 'touch: /conf/x: Read-only file system', 'x=1y=2', 'here'],
    ]);
    expect(mountsBelow(podDir(pod)).map((path) => path.slice(podDir(pod).length))).toEqual([
      '/volume-subpaths/host/main/0',
      '/volume-subpaths/host/main/1',
      '/volume-subpaths/own/main/2',
    ]);
    const refused = await daemon.until(
      'escape',
      'refused',
      (found) => containerStatus(found)?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    const text = 'failed to prepare subPath for volumeMount "host" of container "main"';
    expect(containerStatus(refused)?.state?.waiting?.message).toBe(text);
    expect((await daemon.event('escape', 'Failed')).msg).toContain(text);
    await daemon.warning(text, 'is outside of the volume');
    for (const name of ['parts', 'escape']) bed.withdraw(name);
    await gone(pod);
    expect(readFileSync(join(dir, 'web/conf/app.ini'), 'utf8')).toBe('x=1y=2\n');
  });

  test('mountPropagation: a mount on the node appears in the container, and vice versa', async () => {
    const dir = onNode('shared');
    mkdirSync(join(dir, 'late'), { recursive: true });
    mount('--bind', dir, dir);
    mount('--make-shared', dir);
    const tmpfs = ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs'];
    try {
      podWith(
        'propagating',
        [
          { name: 'in', hostPath: { path: dir }, mount: { mountPropagation: 'HostToContainer' } },
          { name: 'none', hostPath: { path: dir } },
          { name: 'out', emptyDir: {}, mount: { mountPropagation: 'Bidirectional' } },
        ],
        { main: { securityContext: { privileged: true } } },
      );
      const pod = await daemon.running('propagating');
      mount(...tmpfs, join(dir, 'late'));
      writeFileSync(join(dir, 'late/seen'), '');
      expect(await sh(pod, 'ls /in/late; ls /none/late | wc -l')).toEqual(['seen', '0']);
      await sh(pod, 'mkdir /out/theirs; mount -t tmpfs tmpfs /out/theirs; touch /out/theirs/made-inside');
      const out = volumeDir(pod, 'empty-dir', 'out');
      expect(readdirSync(join(out, 'theirs'))).toEqual(['made-inside']);
      bed.withdraw('propagating');
      await gone(pod);
      expect(mountsBelow(out)).toEqual([]);
      expect(readdirSync(join(dir, 'late'))).toEqual(['seen']);
    } finally {
      for (const path of mountsBelow(dir).toReversed()) execFileSync('umount', [path]);
      execFileSync('umount', [dir]);
    }
  });

  test('problems of volumes in a manifest are reported with file and field', async () => {
    const emptyDir = { name: 'v', emptyDir: {} };
    podWith('wrong', [
      { ...emptyDir, mount: { subPath: '../up', mountPropagation: 'Bidirectional' } },
      { name: 'two', emptyDir: {}, hostPath: { path: '/x' } },
      { name: 'typo', hostPath: { path: '/x', type: 'Folder' } },
      { name: 'mode', downwardAPI: { defaultMode: 0o1777, items: [{ path: '../x' }] } },
    ]);
    const file = `${join(bed.manifestDir, 'wrong.json')}: `;
    const fields = [
      'spec.containers[0].volumeMounts[0].subPath: ',
      'spec.volumes[1]: may have only one of emptyDir, hostPath',
      'spec.volumes[2].hostPath.type: must be one of ',
      'spec.volumes[3].downwardAPI.defaultMode: must be ',
    ];
    for (const field of fields) await daemon.warning(file, field);
    bed.withdraw('wrong');
  });
});

function mount(...args: readonly string[]): void {
  execFileSync('mount', args);
}
