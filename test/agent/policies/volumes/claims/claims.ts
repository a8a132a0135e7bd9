/** Claims and volumes for tests. */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../../../src/types/kubernetes.ts';
import { testPod } from '../../../../support/pods.ts';

export const CLAIMED = { name: 'data', persistentVolumeClaim: { claimName: 'orders' } };
export const EPHEMERAL = { name: 'data', ephemeral: {} };

/** A pod that mounts the volume at `/data0`. */
export function claimingPod(
  volume: NonNullable<Pod['spec']['volumes']>[number] = CLAIMED,
  spec: Partial<Pod['spec']> = {},
): Pod {
  const pod = testPod({ uid: 'u-1' });
  const containers = [{ name: 'main', volumeMounts: [{ name: volume.name, mountPath: '/data0' }] }];
  return { ...pod, spec: { ...pod.spec, containers, volumes: [volume], ...spec } };
}

/** Bound to `pv-1`. */
export function claim(fields: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim {
  return {
    metadata: { name: 'orders', namespace: 'default', uid: 'c-1' },
    spec: { volumeName: 'pv-1' },
    status: { phase: 'Bound' },
    ...fields,
  };
}

/** `pv-1`, bound to the claim. */
export function persistentVolume(
  spec: NonNullable<PersistentVolume['spec']>,
  annotations: Record<string, string> = {},
): PersistentVolume {
  return {
    metadata: { name: 'pv-1', annotations },
    spec: { accessModes: ['ReadWriteOnce'], claimRef: { name: 'orders', uid: 'c-1' }, ...spec },
  };
}
