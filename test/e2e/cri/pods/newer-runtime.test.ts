/** What only containerd 2 can do: image volumes and user namespaces. The suite runs where PATH has such a containerd. */
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { containerStatus } from '../../../support/daemon.ts';

const OPTIONS = {
  major: 2,
  beforeStart: ({ containerd, dir }: { containerd: { dir: string }; dir: string }) => {
    // Users of a namespace have to reach what is mounted for them.
    for (const folder of [containerd.dir, dir]) chmodSync(folder, 0o711);
    return [];
  },
};

describeOnDaemon('pods of containerd 2', OPTIONS, ({ bed, daemon }) => {
  const volumes = () =>
    [{ name: 'data', image: { reference: bed.containerd.image, pullPolicy: 'Never' } }] as const;
  const mounting = () => bed.server({ volumeMounts: [{ name: 'data', mountPath: '/data' }] });

  test('an image is a volume: its files can be read, and not be written', async () => {
    bed.apply('image', { containers: [mounting()], volumes: volumes() });
    const pod = await daemon.running('image');
    expect(await bed.exec(pod, ['ls', '/data/bin'])).toContain('busybox');
    expect(await bed.exec(pod, ['sh', '-c', 'touch /data/new 2>&1 || echo refused'])).toMatch(/refused/);
  });

  test('an image that is not there, and must not be pulled, keeps the container waiting with the reason', async () => {
    const image = { reference: 'registry.invalid/none:1', pullPolicy: 'Never' } as const;
    bed.apply('absent', { containers: [mounting()], volumes: [{ name: 'data', image }] });
    const pod = await daemon.until('absent', 'refused', (seen) => {
      const reason = containerStatus(seen)?.state?.waiting?.reason;
      return reason !== undefined && reason !== 'ContainerCreating';
    });
    expect(containerStatus(pod)?.state?.waiting).toMatchObject({
      reason: 'ErrImageNeverPull',
      message: expect.stringContaining('registry.invalid/none:1') as unknown,
    });
  });

  test('a pod with its own user namespace runs as an unused user of the node, and its folder has that user', async () => {
    const emptyDir = [{ name: 'data', emptyDir: {} }];
    bed.apply('own-users', {
      hostNetwork: false,
      hostUsers: false,
      containers: [mounting()],
      volumes: emptyDir,
    });
    const pod = await daemon.running('own-users');
    const [, hostId = ''] = (await bed.exec(pod, ['cat', '/proc/self/uid_map'])).trim().split(/\s+/);
    const written: unknown = JSON.parse(
      readFileSync(join(bed.rootDir, 'pods', pod.metadata.uid, 'userns'), 'utf8'),
    );
    expect(Number(hostId)).toBeGreaterThanOrEqual(65_536);
    const mapping = { hostId: Number(hostId), containerId: 0, length: 65_536 };
    expect(written).toEqual({ uidMappings: [mapping], gidMappings: [mapping] });
    expect(await bed.exec(pod, ['sh', '-c', 'touch /data/own && stat -c %u /data/own'])).toBe('0\n');
  });
});
