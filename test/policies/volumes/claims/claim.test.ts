import { describe, expect, test } from '@jest/globals';
import { boundVolume, checkBinding, claimNameOf } from '../../../../src/policies/volumes/claims/claim.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../../src/types/kubernetes.ts';
import { claim, CLAIMED, claimingPod, EPHEMERAL, persistentVolume } from './claims.ts';

const POD = claimingPod();
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
