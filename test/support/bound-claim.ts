/** A claim in the cluster of a test that is bound to a PersistentVolume of its own. */
import type { PersistentVolumeClaim } from '../../src/types/kubernetes.ts';
import type { ControlPlane } from './control-plane.ts';

export interface BoundClaimOptions {
  /** As in the spec of a PersistentVolume: `{ csi: { … } }`. */
  readonly source: object;
  readonly volumeMode?: string;
  readonly storageClassName?: string;
}

export const volumeOf = (claim: string) => `pv-${claim}`;

/** Makes both, and binds them as the controllers of a cluster do. */
export async function boundClaim(
  controlPlane: ControlPlane,
  name: string,
  { source, volumeMode = 'Filesystem', storageClassName = '' }: BoundClaimOptions,
): Promise<void> {
  const size = { storage: '1Gi' };
  const accessModes = ['ReadWriteOnce'];
  const common = { accessModes, storageClassName, volumeMode };
  await controlPlane.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { ...common, volumeName: volumeOf(name), resources: { requests: size } },
  });
  const path = `/api/v1/namespaces/default/persistentvolumeclaims/${name}`;
  const { metadata } = (await controlPlane.read<PersistentVolumeClaim>(path)) ?? {};
  const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'default', name, uid: metadata?.uid };
  await controlPlane.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeOf(name) },
    spec: { ...common, capacity: size, claimRef, ...source },
  });
  await controlPlane.patch(`${path}/status`, { status: { phase: 'Bound', accessModes } });
}
