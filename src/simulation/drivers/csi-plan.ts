/** Which CSI drivers and volumes a simulated node has, and which pods use them. */
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import { pick } from '../plugins/plugins-plan.ts';
import type { KeyedRandom } from '../resources/growth.ts';

export interface CsiPlan {
  readonly drivers: readonly CsiDriverPlan[];
}

export interface CsiDriverPlan {
  readonly name: string;
  readonly isStaging: boolean;
  readonly isAttached: boolean;
  /** The agent has to call its NodePublishVolume again and again. */
  readonly isRepublishing: boolean;
  /** Their claims and PersistentVolumes have the same names. */
  readonly handles: readonly string[];
}

const SHARE = 0.9;
const USES = 0.8;
const NAMESPACE = 'default';
const VOLUME = 'csi';

/** Undefined for a node without CSI drivers. */
export function drawnCsi(random: KeyedRandom): CsiPlan | undefined {
  if (random('csi') >= SHARE) return undefined;
  const isRepublishing = random('csi/republishing') < 0.3;
  const disks = { name: 'disks.csi.example', isStaging: true, isAttached: true, isRepublishing: false };
  const files = { name: 'files.csi.example', isStaging: random('csi/staging') < 0.5, isAttached: false };
  return {
    drivers: [
      { ...disks, handles: ['disk-1', 'disk-2'] },
      { ...files, isRepublishing, handles: ['share'] },
    ],
  };
}

/** The spec of a pod of the API server on such a node. */
export function withCsiVolume(spec: PodSpec, uid: string, plan: CsiPlan, random: KeyedRandom): PodSpec {
  const drawn = (what: string) => random(`csi/pod/${uid}/${what}`);
  if (drawn('uses') >= USES) return spec;
  const driver = pick(plan.drivers, drawn('driver'));
  const isInline = !driver.isAttached && drawn('inline') < 0.4;
  const volume = isInline
    ? { name: VOLUME, csi: { driver: driver.name } }
    : { name: VOLUME, persistentVolumeClaim: { claimName: pick(driver.handles, drawn('handle')) } };
  const [first, ...others] = spec.containers;
  const mounting = (container: Container): Container => ({
    ...container,
    volumeMounts: [...(container.volumeMounts ?? []), { name: VOLUME, mountPath: '/csi' }],
  });
  if (first === undefined) return spec;
  return {
    ...spec,
    containers: [mounting(first), ...others],
    volumes: [...(spec.volumes ?? []), volume],
  };
}

/** The paths on which the pod's containers have volumes of drivers, below the folder of its volumes of CSI. */
export function csiFolders(spec: PodSpec | undefined): readonly string[] {
  const [volume] = (spec?.volumes ?? []).filter(({ name }) => name === VOLUME);
  return volume === undefined ? [] : [volume.persistentVolumeClaim?.claimName ?? VOLUME];
}

/** Makes the objects of drivers and volumes that the cluster has from the start. */
export function createCsiObjects({ operations }: SimulatedApiServer, { drivers }: CsiPlan): void {
  for (const { name: driver, isAttached, isRepublishing, handles } of drivers) {
    const volumeLifecycleModes = ['Persistent', 'Ephemeral'];
    const spec = { attachRequired: isAttached, requiresRepublish: isRepublishing, volumeLifecycleModes };
    operations.create({ resource: 'csidrivers' }, { metadata: { name: driver }, spec });
    for (const name of handles) {
      const accessModes = ['ReadWriteMany'];
      const claims = { resource: 'persistentvolumeclaims', namespace: NAMESPACE } as const;
      const claim = operations.create(claims, {
        metadata: { name, namespace: NAMESPACE },
        spec: { accessModes, volumeName: name },
        ...{ status: { phase: 'Bound', accessModes } },
      });
      const claimRef = { namespace: NAMESPACE, name, uid: claim.metadata.uid };
      operations.create(
        { resource: 'persistentvolumes' },
        { metadata: { name }, spec: { accessModes, claimRef, csi: { driver, volumeHandle: name } } },
      );
    }
  }
}
