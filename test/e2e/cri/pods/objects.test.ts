/** Pods of containers with ConfigMaps, Secrets and claims of manifests, which change while they run. */
import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { put } from '../../../agent/sources/support.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { statelet } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

const PASSWORD = 'hunter2-hunter2';
const claim = (accessModes: readonly string[] = ['ReadWriteOnce']) => ({
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data' },
  spec: { accessModes, resources: { requests: { storage: '1Gi' } } },
});
const configMap = (name: string, data: Record<string, string>) => ({
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const secret = (password: string) => ({
  kind: 'Secret',
  metadata: { name: 'keys' },
  stringData: { password },
});

describeOnContainerd('objects of manifests', ({ openBed }) => {
  const write = (bed: CriDaemonBed, ...documents: readonly object[]) =>
    put(
      join(bed.manifestDir, 'objects.yaml'),
      documents.map((one) => JSON.stringify({ apiVersion: 'v1', ...one })).join('\n---\n'),
    );
  const start = (bed: CriDaemonBed) => bed.run(['--pods', bed.manifestDir]);
  const read = (bed: CriDaemonBed, pod: Pod, file: string) => bed.exec(pod, ['cat', file]);
  const reads = (bed: CriDaemonBed, pod: Pod, file: string, text: string) =>
    waitFor(async () => (await read(bed, pod, file)) === text, { what: `${file} to be ${text}` });
  const why = async (bed: CriDaemonBed, wanted: string) => {
    const ask = async () => (await statelet('why', '--root-dir', bed.rootDir, 'web')).stdout;
    await waitFor(async () => (await ask()).includes(wanted), { what: `why to say ${wanted}` });
  };
  const apply = (bed: CriDaemonBed, name = 'web', volumes: PodSpec['volumes'] = VOLUMES) =>
    bed.apply(name, {
      volumes,
      containers: [
        bed.server({
          env: [{ name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } }],
          volumeMounts: [
            ...(volumes ?? []).map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
            { name: 'settings', mountPath: '/color', subPath: 'color' },
          ],
        }),
      ],
    });
  const VOLUMES: PodSpec['volumes'] = [
    { name: 'settings', configMap: { name: 'settings' } },
    { name: 'keys', secret: { secretName: 'keys' } },
    {
      name: 'all',
      projected: {
        sources: [
          { configMap: { name: 'settings', items: [{ key: 'color', path: 'a/color' }] } },
          { secret: { name: 'keys' } },
          { configMap: { name: 'never', optional: true } },
        ],
      },
    },
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
  ];
  test('a ConfigMap is available as files and as variables', async () => {
    const bed = openBed();
    apply(bed);
    // A volume that has been mounted once holds up nothing any more: what it lacks is missing from the beginning.
    await write(bed, configMap('settings', {}));
    const first = await start(bed);
    await first.warning('configmap references non-existent config key: color');
    await first.warning('persistentvolumeclaims "data" not found');
    const key = 'key color of ConfigMap default/settings';
    const all = `Secret default/keys, ${key} and PersistentVolumeClaim default/data`;
    await why(bed, `waits for ${all}, which do not exist`);
    await write(bed, claim(), configMap('settings', { color: 'red' }));
    await why(bed, 'waits for Secret default/keys, which does not exist');
    await write(bed, claim(), configMap('settings', {}), secret(PASSWORD));
    await why(bed, `waits for ${key}, which does not exist`);
    await write(bed, claim(), configMap('settings', { color: 'red' }), secret(PASSWORD));
    const pod = await first.running('web');
    for (const file of ['/settings/color', '/all/a/color', '/color'])
      expect(await read(bed, pod, file)).toBe('red');
    expect(await read(bed, pod, '/keys/password')).toBe(PASSWORD);
    expect(await read(bed, pod, '/all/password')).toBe(PASSWORD);

    await write(bed, claim(), configMap('settings', { color: 'blue' }), secret('another'));
    await reads(bed, pod, '/settings/color', 'blue');
    await reads(bed, pod, '/all/a/color', 'blue');
    await reads(bed, pod, '/keys/password', 'another');
    expect(await read(bed, pod, '/color')).toBe('red');
    expect(await bed.exec(pod, ['sh', '-c', 'echo -n "$COLOR"'])).toBe('red');

    await bed.exec(pod, ['sh', '-c', 'echo kept > /data/file']);
    const file = join(bed.rootDir, 'claims/default/data/file');
    expect(readFileSync(file, 'utf8')).toBe('kept\n');
    unlinkSync(join(bed.manifestDir, 'objects.yaml'));
    await first.warning('configmap "settings" not found');
    await first.end('SIGKILL');

    const second = await start(bed);
    expect((await second.running('web')).status?.containerStatuses).toEqual(pod.status?.containerStatuses);
    await second.warning('secret "keys" not found');
    expect(await read(bed, pod, '/settings/color')).toBe('blue');
    expect(await read(bed, pod, '/data/file')).toBe('kept\n');
    bed.withdraw('web');
    await second.waitFor(async () => (await second.pods()).length === 0, { what: 'the pod to go' });
    expect(existsSync(file)).toBe(true);
  });

  test('a Secret is in no mount of a disk, and in nothing that the agent writes or shows', async () => {
    const bed = openBed();
    apply(bed);
    await write(bed, claim(), configMap('settings', { color: 'red' }), secret(PASSWORD));
    const daemon = await start(bed);
    const pod = await daemon.running('web');
    const mounts = (await bed.exec(pod, ['cat', '/proc/self/mounts'])).split('\n');
    for (const path of ['/keys', '/all'])
      expect(mounts.find((line) => line.split(' ')[1] === path)).toMatch(/^tmpfs /u);
    const shown = [
      JSON.stringify(await daemon.pods()),
      daemon.log.map((line) => JSON.stringify(line)).join(),
    ];
    for (const secretText of [PASSWORD, Buffer.from(PASSWORD).toString('base64')])
      expect(shown.join()).not.toContain(secretText);
  });

  test('of two pods with a claim of ReadWriteOncePod, the second waits until the first has ended', async () => {
    const bed = openBed();
    const volumes = [
      { name: 'settings', configMap: { name: 'settings' } },
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    ];
    apply(bed, 'web', volumes);
    await write(bed, claim(['ReadWriteOncePod']), configMap('settings', { color: 'red' }));
    const daemon = await start(bed);
    await daemon.running('web');
    apply(bed, 'other', volumes);
    await daemon.warning('ReadWriteOncePod access mode and is already in use by another pod');
    bed.withdraw('web');
    await daemon.running('other');
  });
});
