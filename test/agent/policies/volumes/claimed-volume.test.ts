import { describe, expect, test } from '@jest/globals';
import {
  boundVolume,
  checkBinding,
  checkExclusive,
  checkVolumeMode,
  claimedVolume,
  claimNameOf,
  recordedVolume,
} from '../../../../src/agent/policies/volumes/claimed-volume.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../../src/types/kubernetes.ts';
import { claim, CLAIMED, claimingPod, EPHEMERAL, persistentVolume } from './claims/claims.ts';

const POD = claimingPod();
const LABELS = { 'kubernetes.io/hostname': 'node-1' };
const LOCAL = { local: { path: '/disks/a' } };
const found = (spec: NonNullable<PersistentVolume['spec']>, annotations = {}) =>
  claimedVolume(POD, CLAIMED, persistentVolume(spec, annotations), LABELS);

test('a folder of the node, with a type that is checked', () => {
  expect(found({ hostPath: { path: '/srv', type: 'Directory' } })).toEqual({
    name: 'pv-1',
    source: { kind: 'hostPath', path: '/srv', type: 'Directory' },
    readOnly: false,
    isExclusive: false,
  });
});

test('a local volume, with its mount options and the group that its annotation names', () => {
  const options = { mountOptions: ['noatime'], accessModes: ['ReadWriteOncePod'] };
  expect(found({ ...LOCAL, ...options }, { 'pv.beta.kubernetes.io/gid': '4321' })).toEqual({
    name: 'pv-1',
    source: { kind: 'local', path: '/disks/a', mountOptions: ['noatime'], isReadOnly: false },
    readOnly: false,
    isExclusive: true,
    group: 4321,
  });
  expect(found(LOCAL, { 'pv.beta.kubernetes.io/gid': 'wheel' })).not.toHaveProperty('group');
});

test('is mounted for reading alone if no volume of the pod with that claim writes', () => {
  const readOnly = { name: 'data', persistentVolumeClaim: { claimName: 'orders', readOnly: true } };
  const writing = { name: 'more', persistentVolumeClaim: { claimName: 'orders' } };
  const of = (...volumes: (typeof readOnly | typeof writing)[]) =>
    claimedVolume(claimingPod(readOnly, { volumes }), readOnly, persistentVolume(LOCAL), LABELS);
  expect(of(readOnly)).toMatchObject({ readOnly: true, source: { isReadOnly: true } });
  expect(of(readOnly, writing)).toMatchObject({ readOnly: true, source: { isReadOnly: false } });
});

describe('a volume is refused', () => {
  const terms = (values: string[]) => ({
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }],
    },
  });

  test('that is of another node', () => {
    expect(found({ ...LOCAL, nodeAffinity: terms(['node-1']) })).toHaveProperty('name', 'pv-1');
    expect(() => found({ ...LOCAL, nodeAffinity: terms(['node-2']) })).toThrow(
      'MountVolume.NodeAffinity check failed for volume "pv-1" : no matching NodeSelectorTerms',
    );
  });

  test('that has mount options, if it is a hostPath', () => {
    expect(() => found({ hostPath: { path: '/srv' }, mountOptions: ['ro'] })).toThrow(
      'MountVolume.MountOptionSupport check failed for volume "pv-1" : mount options are not supported for this volume type',
    );
  });

  test.each([
    ['nfs', { nfs: { server: 'host', path: '/' } }],
    ['an unknown kind', {}],
  ])('of %s', (kind, source) => {
    expect(() => found(source)).toThrow(
      `MountVolume.SetUp failed for volume "pv-1" : a PersistentVolume of ${kind} is not supported; there are hostPath, local, csi`,
    );
  });

  test('that is a block device of hostPath', () => {
    expect(() => found({ hostPath: { path: '/dev/x' }, volumeMode: 'Block' })).toThrow(
      'MapVolume.SetUpDevice failed for volume "pv-1" : a PersistentVolume of hostPath cannot have volumeMode Block',
    );
  });

  test('that one pod alone may use, and another one uses', () => {
    const exclusive = found({ ...LOCAL, accessModes: ['ReadWriteOncePod'] });
    expect(() => checkExclusive(exclusive, false)).not.toThrow();
    expect(() => checkExclusive(found(LOCAL), true)).not.toThrow();
    expect(() => checkExclusive(exclusive, true)).toThrow(
      'MountVolume.SetUp failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
  });
});

test('a block device is known as one, and its CSI driver gets the name of the volume for its folders', () => {
  expect(found({ ...LOCAL, volumeMode: 'Block' })).toMatchObject({
    isBlock: true,
    source: { kind: 'local' },
  });
  const csi = { driver: 'disk.csi.test', volumeHandle: 'vol-1' };
  expect(found({ csi, volumeMode: 'Block' })).toMatchObject({ isBlock: true, source: { blockName: 'pv-1' } });
  expect(found({ csi })).not.toHaveProperty('isBlock');
});

test('files are mounted and devices are not, and the other way round', () => {
  const block = persistentVolume({ ...LOCAL, volumeMode: 'Block' });
  const files = persistentVolume(LOCAL);
  const device = claimingPod(CLAIMED, {
    containers: [{ name: 'main', volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] }],
  });
  expect(() => checkVolumeMode(POD, CLAIMED, files)).not.toThrow();
  expect(() => checkVolumeMode(device, CLAIMED, block)).not.toThrow();
  expect(() => checkVolumeMode(POD, CLAIMED, block)).toThrow(
    'volume data has volumeMode Block, but is specified in volumeMounts',
  );
  expect(() => checkVolumeMode(device, CLAIMED, files)).toThrow(
    'volume data has volumeMode Filesystem, but is specified in volumeDevices',
  );
});

test('a record is read as it was written, and anything else is none', () => {
  const written = found(LOCAL);
  expect(recordedVolume(JSON.stringify(written))).toEqual(written);
  for (const text of ['', '{', 'null', '[]', '{"name":"a","source":{"kind":"nfs","path":"/"}}'])
    expect(recordedVolume(text)).toBeUndefined();
});

const { namespace, name: podName, uid } = POD.metadata;

const ABOUT = `error processing PVC ${namespace}/orders:`;

test('a claim is named by the volume, or after pod and volume; other volumes have none', () => {
  expect(claimNameOf(POD, CLAIMED)).toBe('orders');
  expect(claimNameOf(POD, EPHEMERAL)).toBe(`${podName}-data`);
  expect(claimNameOf(POD, { name: 'data', emptyDir: {} })).toBeUndefined();
});

describe('a pod waits for a claim', () => {
  const bound = (found: PersistentVolumeClaim | undefined) => () => boundVolume(POD, CLAIMED, found);

  test('that does not exist', () => {
    const why = 'failed to fetch PVC from API server: persistentvolumeclaims "orders" not found';
    expect(bound(undefined)).toThrow(`${ABOUT} ${why}`);
  });

  test('that is being deleted, although it is bound', () => {
    const metadata = { ...claim().metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    expect(bound(claim({ metadata }))).toThrow(`${ABOUT} PVC is being deleted`);
  });

  test('that is not bound, or does not say to what', () => {
    expect(bound(claim({ status: { phase: 'Pending' } }))).toThrow(`${ABOUT} PVC is not bound`);
    expect(bound(claim({ status: {} }))).toThrow(`${ABOUT} PVC is not bound`);
    expect(bound(claim({ spec: {} }))).toThrow(`${ABOUT} PVC has empty pvc.Spec.VolumeName`);
  });

  test('and has it once it is bound', () => {
    expect(bound(claim())()).toBe('pv-1');
  });
});

describe('the claim of an ephemeral volume', () => {
  const owned = (owner: { uid: string; controller?: boolean }) => {
    const ref = { apiVersion: 'v1', kind: 'Pod', name: podName, ...owner };
    return claim({ metadata: { name: `${podName}-data`, namespace, uid: 'c-1', ownerReferences: [ref] } });
  };

  test('belongs to the pod that is its controller', () => {
    expect(boundVolume(POD, EPHEMERAL, owned({ uid, controller: true }))).toBe('pv-1');
  });

  test.each([
    ['has no owner', claim({ metadata: { name: `${podName}-data`, namespace, uid: 'c-1' } })],
    ['is of an earlier pod of that name', owned({ uid: 'other', controller: true })],
    ['is not controlled by its owner', owned({ uid })],
  ])('is not used if it %s', (_, found) => {
    expect(() => boundVolume(POD, EPHEMERAL, found)).toThrow(
      `PVC ${namespace}/${podName}-data was not created for pod ${namespace}/${podName} (pod is not owner)`,
    );
  });
});

describe('a PersistentVolume', () => {
  const check = (found: PersistentVolume | undefined) => () => checkBinding(POD, claim(), 'pv-1', found);

  test('that points back to the claim is used', () => {
    expect(check(persistentVolume({}))).not.toThrow();
  });

  test('that does not exist, is not bound, or is bound to an earlier claim of that name is not used', () => {
    expect(check(undefined)).toThrow(
      `${ABOUT} failed to get PV pv-1 from API server: persistentvolumes "pv-1" not found`,
    );
    expect(check({ metadata: { name: 'pv-1' }, spec: {} })).toThrow(
      `${ABOUT} found PV object pv-1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
    expect(check(persistentVolume({ claimRef: { uid: 'c-0' } }))).toThrow(
      `${ABOUT} found PV object pv-1 but its pv.Spec.ClaimRef.UID c-0 does not point to claim.UID c-1`,
    );
  });
});
