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
  /** Those of them that are block devices. */
  readonly devices: readonly string[];
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
      { ...disks, handles: ['disk-1', 'disk-2', 'device-1'], devices: ['device-1'] },
      { ...files, isRepublishing, handles: ['share', 'device-2'], devices: ['device-2'] },
    ],
  };
}

/** The spec of a pod of the API server on such a node. */
export function withCsiVolume(spec: PodSpec, uid: string, plan: CsiPlan, random: KeyedRandom): PodSpec {
  const drawn = (what: string) => random(`csi/pod/${uid}/${what}`);
  if (drawn('uses') >= USES) return spec;
  const driver = pick(plan.drivers, drawn('driver'));
  const isInline = !driver.isAttached && drawn('inline') < 0.4;
  const handle = pick(driver.handles, drawn('handle'));
  const volume = isInline
    ? { name: VOLUME, csi: { driver: driver.name } }
    : { name: VOLUME, persistentVolumeClaim: { claimName: handle } };
  const isDevice = !isInline && driver.devices.includes(handle);
  const [first, ...others] = spec.containers;
  const using = (container: Container): Container =>
    isDevice
      ? { ...container, volumeDevices: [{ name: VOLUME, devicePath: '/dev/csi' }] }
      : {
          ...container,
          volumeMounts: [...(container.volumeMounts ?? []), { name: VOLUME, mountPath: '/csi' }],
        };
  if (first === undefined) return spec;
  return {
    ...spec,
    containers: [using(first), ...others],
    volumes: [...(spec.volumes ?? []), volume],
  };
}

/** The volume of a driver that the pod's containers have. Its name is that of its folder. */
export function csiVolumeOf(
  spec: PodSpec | undefined,
): { readonly name: string; readonly isDevice: boolean } | undefined {
  const volume = spec?.volumes?.find(({ name }) => name === VOLUME);
  if (spec === undefined || volume === undefined) return undefined;
  const isDevice = spec.containers.some(({ volumeDevices = [] }) => volumeDevices.length > 0);
  return { name: volume.persistentVolumeClaim?.claimName ?? VOLUME, isDevice };
}

/** Makes the objects of drivers and volumes that the cluster has from the start. */
export function createCsiObjects({ operations }: SimulatedApiServer, { drivers }: CsiPlan): void {
  for (const { name: driver, isAttached, isRepublishing, handles, devices } of drivers) {
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
        {
          metadata: { name },
          spec: {
            accessModes,
            claimRef,
            volumeMode: devices.includes(name) ? 'Block' : 'Filesystem',
            csi: { driver, volumeHandle: name },
          },
        },
      );
    }
  }
}
