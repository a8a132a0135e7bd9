import { expect, test } from '@jest/globals';
import { claimReader } from '../../../src/hollow/node/hollow-drivers.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../src/types/kubernetes.ts';

const POD: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'web-uid' },
  spec: { containers: [] },
};
const VOLUMES: Readonly<Record<string, PersistentVolume['spec']>> = {
  disk: { csi: { driver: 'disks.csi.test', volumeHandle: 'disk-1' } },
  device: { volumeMode: 'Block', csi: { driver: 'disks.csi.test', volumeHandle: 'disk-2' } },
  folder: { nfs: { server: 'nfs.test', path: '/' } },
};

function reader({ bound = Object.keys(VOLUMES) } = {}) {
  const asked: string[] = [];
  const isOfDriver = claimReader({
    persistentVolumeClaim: (_, name): Promise<PersistentVolumeClaim | undefined> => {
      asked.push(name);
      const isBound = bound.includes(name);
      return Promise.resolve({
        spec: { ...(isBound && { volumeName: name }) },
        status: { phase: isBound ? 'Bound' : 'Pending' },
      });
    },
    persistentVolume: (name) =>
      name === 'lost'
        ? Promise.reject(new Error('the API server does not answer'))
        : Promise.resolve({ spec: VOLUMES[name] }),
  });
  return { asked, isOf: (claimName: string) => isOfDriver(POD, claimVolume(claimName)), isOfDriver };
}

const claimVolume = (claimName: string) => ({ name: claimName, persistentVolumeClaim: { claimName } });

test('a claim leads to a CSI driver where its volume is one of a driver, of files or a block device', async () => {
  const { isOf } = reader();
  expect(await Promise.all(['disk', 'device', 'folder'].map(isOf))).toEqual([true, true, false]);
});

test('a claim that is not bound, or cannot be read, is waited for', async () => {
  const { isOf } = reader({ bound: ['lost', 'unknown'] });
  expect(await Promise.all(['disk', 'lost', 'unknown'].map(isOf))).toEqual([true, true, true]);
});

test('what a bound claim leads to is asked once for a pod', async () => {
  const { isOf, asked } = reader({ bound: ['folder'] });
  for (const claim of ['folder', 'folder', 'disk', 'disk']) await isOf(claim);
  expect(asked).toEqual(['folder', 'disk', 'disk']);
});

test('other volumes are not asked for', async () => {
  const { isOfDriver, asked } = reader();
  expect(await isOfDriver(POD, { name: 'inline', csi: { driver: 'files.csi.test' } })).toBe(true);
  expect(await isOfDriver(POD, { name: 'scratch', emptyDir: {} })).toBe(false);
  expect(asked).toEqual([]);
});
