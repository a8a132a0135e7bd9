/** Volumes of CSI drivers: the requests to a driver, and what its answers mean. The rules are those of the kubelet. */
import type { ErrorKind } from '../../../types/errors.ts';
import type { CSIDriver, PersistentVolume, Pod } from '../../../types/kubernetes.ts';
import type { Volume } from './volume-source.ts';

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** JSON: it is recorded with the PersistentVolume of a claim. */
export interface CsiSource {
  readonly kind: 'csi';
  readonly driver: string;
  /** How the driver knows the volume. */
  readonly handle: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly fsType: string;
  readonly isReadOnly: boolean;
  readonly mountOptions: readonly string[];
  readonly accessModes: readonly string[];
  /** A volume of the pod's spec, which lives as long as the pod: it is neither attached nor staged. */
  readonly isEphemeral: boolean;
  /** Of a block device: the name of its PersistentVolume, by which its folders are named. */
  readonly blockName?: string;
  readonly stageSecret?: SecretReference;
  readonly publishSecret?: SecretReference;
  readonly expandSecret?: SecretReference;
}

type CsiFields = NonNullable<NonNullable<PersistentVolume['spec']>['csi']>;

/** The name of the volume's folder in the pod's folder: that of the PersistentVolume, or of the inline volume. */
export function csiVolumeName({
  claimed,
  volume,
}: {
  readonly claimed: { readonly name: string } | undefined;
  readonly volume: { readonly name: string };
}): string {
  return (claimed ?? volume).name;
}

/** Of a PersistentVolume. `isOnlyRead`: all volumes of the pod that have its claim are read-only. */
export function csiSource(
  { spec = {} }: PersistentVolume,
  csi: CsiFields,
  isOnlyRead: boolean,
  blockName?: string,
): CsiSource {
  const { driver, volumeHandle, volumeAttributes = {}, fsType = '', readOnly = false } = csi;
  const stageSecret = secretReference(csi.nodeStageSecretRef);
  const publishSecret = secretReference(csi.nodePublishSecretRef);
  const expandSecret = secretReference(csi.nodeExpandSecretRef);
  return {
    kind: 'csi',
    driver,
    handle: volumeHandle,
    attributes: volumeAttributes,
    fsType,
    isReadOnly: readOnly || isOnlyRead,
    mountOptions: spec.mountOptions ?? [],
    accessModes: spec.accessModes ?? [],
    isEphemeral: false,
    blockName,
    stageSecret,
    publishSecret,
    expandSecret,
  };
}

/** Of a volume in the pod's own spec. `handle` is made for the pod and the volume. */
export function inlineCsiSource(
  { metadata: { namespace } }: Pod,
  {
    driver,
    volumeAttributes = {},
    fsType = '',
    readOnly = false,
    nodePublishSecretRef,
  }: NonNullable<Volume['csi']>,
  handle: string,
): CsiSource {
  const publishSecret = secretReference({ namespace, name: nodePublishSecretRef?.name });
  return {
    kind: 'csi',
    driver,
    handle,
    attributes: volumeAttributes,
    fsType,
    isReadOnly: readOnly,
    mountOptions: [],
    accessModes: ['ReadWriteOnce'],
    isEphemeral: true,
    publishSecret,
  };
}

function secretReference(
  reference: { readonly namespace?: string | undefined; readonly name?: string | undefined } | undefined,
): SecretReference | undefined {
  const { namespace = '', name = '' } = reference ?? {};
  return name === '' ? undefined : { namespace, name };
}

/** By this name the API server and its controllers know the volume: in `volumesInUse`, for example. */
export function uniqueVolumeName({ driver, handle }: Pick<CsiSource, 'driver' | 'handle'>): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/** The capabilities of drivers that are used here, by the names of the CSI specification. */
export const CSI_CAPABILITIES = [
  'UNKNOWN',
  'STAGE_UNSTAGE_VOLUME',
  'GET_VOLUME_STATS',
  'EXPAND_VOLUME',
  'VOLUME_CONDITION',
  'SINGLE_NODE_MULTI_WRITER',
  'VOLUME_MOUNT_GROUP',
  /** Those of later versions. */
  'OTHER',
] as const;
export type CsiCapability = (typeof CSI_CAPABILITIES)[number];

/** In the order of their numbers. */
export const CSI_ACCESS_MODES = [
  'UNKNOWN',
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'MULTI_NODE_READER_ONLY',
  'MULTI_NODE_SINGLE_WRITER',
  'MULTI_NODE_MULTI_WRITER',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
] as const;
export type CsiAccessMode = (typeof CSI_ACCESS_MODES)[number];

/** The first access mode of the volume counts. */
export function csiAccessMode(
  { accessModes: [first = 'ReadWriteOnce'] }: Pick<CsiSource, 'accessModes'>,
  capabilities: ReadonlySet<CsiCapability>,
): CsiAccessMode {
  const isPrecise = capabilities.has('SINGLE_NODE_MULTI_WRITER');
  if (first === 'ReadOnlyMany') return 'MULTI_NODE_READER_ONLY';
  if (first === 'ReadWriteMany') return 'MULTI_NODE_MULTI_WRITER';
  if (!isPrecise) return 'SINGLE_NODE_WRITER';
  return first === 'ReadWriteOncePod' ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_MULTI_WRITER';
}

/** How a driver is to mount a volume, by the names of the CSI specification. */
export interface CsiVolumeCapability {
  /** Undefined for a block device, which has `block`. */
  readonly mount:
    | {
        readonly fsType: string;
        readonly mountFlags: readonly string[];
        /** Only for a driver that changes the group of files itself. */
        readonly volumeMountGroup: string;
      }
    | undefined;
  readonly block: object | undefined;
  readonly accessMode: { readonly mode: CsiAccessMode };
}

/** `group`: that of the pod. */
export function volumeCapability(
  source: CsiSource,
  capabilities: ReadonlySet<CsiCapability>,
  group?: number,
): CsiVolumeCapability {
  const accessMode = { mode: csiAccessMode(source, capabilities) };
  if (source.blockName !== undefined) return { mount: undefined, block: {}, accessMode };
  const isGiven = group !== undefined && capabilities.has('VOLUME_MOUNT_GROUP');
  return {
    block: undefined,
    mount: {
      fsType: source.fsType,
      mountFlags: source.mountOptions,
      volumeMountGroup: isGiven ? String(group) : '',
    },
    accessMode,
  };
}

/** The driver stages the volume once for all pods of the node, before it publishes it. */
export function isStaged(
  { isEphemeral }: Pick<CsiSource, 'isEphemeral'>,
  capabilities: ReadonlySet<CsiCapability>,
): boolean {
  return !isEphemeral && capabilities.has('STAGE_UNSTAGE_VOLUME');
}

/** Whether the agent changes the group of the volume's files, once the driver has published it. */
export function givesFilesToGroup(
  { fsType, isReadOnly, accessModes }: CsiSource,
  capabilities: ReadonlySet<CsiCapability>,
  policy: string | undefined,
): boolean {
  if (isReadOnly || capabilities.has('VOLUME_MOUNT_GROUP') || policy === 'None') return false;
  if (policy === 'File') return true;
  const isOneWriter = accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
  return fsType !== '' && isOneWriter;
}

/** The pod's fields for the driver, if its CSIDriver object has `podInfoOnMount`. */
export function podContext(
  { metadata, spec }: Pod,
  { isEphemeral }: Pick<CsiSource, 'isEphemeral'>,
): Readonly<Record<string, string>> {
  return {
    'csi.storage.k8s.io/pod.name': metadata.name,
    'csi.storage.k8s.io/pod.namespace': metadata.namespace,
    'csi.storage.k8s.io/pod.uid': metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(isEphemeral),
  };
}

export const CSI_TOKENS_KEY = 'csi.storage.k8s.io/serviceAccount.tokens';

/** Why the driver may not serve inline volumes; undefined if it may, or the volume is no inline volume. */
export function lifecycleProblem(
  { driver, isEphemeral }: Pick<CsiSource, 'driver' | 'isEphemeral'>,
  object: CSIDriver | undefined,
): string | undefined {
  const mode = isEphemeral ? 'Ephemeral' : 'Persistent';
  if (object === undefined)
    return isEphemeral
      ? `volume mode "${mode}" not supported by driver ${driver} (no CSIDriver object)`
      : undefined;
  const modes = object.spec.volumeLifecycleModes ?? ['Persistent'];
  if (modes.includes(mode)) return undefined;
  return `volume mode "${mode}" not supported by driver ${driver} (only supports ${JSON.stringify(modes)})`;
}

/** Whether a controller attaches the volume before this node may use it: also if there is no CSIDriver object. */
export function isAttachRequired(
  { isEphemeral }: Pick<CsiSource, 'isEphemeral'>,
  object: CSIDriver | undefined,
): boolean {
  return !isEphemeral && object?.spec.attachRequired !== false;
}

const UNCERTAIN: ReadonlySet<ErrorKind> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'Unavailable',
  'ResourceExhausted',
  'Aborted',
]);

/** Whether the driver may have carried the call out, or may still do so, although it failed. */
export function isUncertain(kind: ErrorKind): boolean {
  return UNCERTAIN.has(kind);
}

const MAJOR_VERSION = /^v?1\.(\d+)\.(\d+)$/;

/**
 * Why a driver that offers these versions of CSI is refused. `known`: the best version of a driver of that name at another
 * socket.
 */
export function csiOfferProblem(
  name: string,
  versions: readonly string[],
  known: string | undefined,
): string | undefined {
  const best = bestVersion(versions);
  if (best === undefined) {
    const list =
      versions
        .slice(0, 10)
        .map((version) => version.slice(0, 30))
        .join(', ') || 'none';
    return `a CSI driver must support a version 1.x.y of CSI; it offers ${list}`;
  }
  if (!/^[A-Za-z0-9](?:[-A-Za-z0-9.]{0,61}[A-Za-z0-9])?$/.test(name))
    return 'the name of a CSI driver has up to 63 letters, digits, dots and dashes, and begins and ends with a letter or digit';
  if (known === undefined || compareVersions(known, best) < 0) return undefined;
  return `Another driver with the same name is already registered with a higher supported version: "${known}"`;
}

/** The highest version 1.x; undefined where there is none. */
export function bestVersion(versions: readonly string[]): string | undefined {
  return versions
    .filter((version) => MAJOR_VERSION.test(version))
    .sort(compareVersions)
    .at(-1);
}

function compareVersions(one: string, other: string): number {
  const [, minor = '0', patch = '0'] = MAJOR_VERSION.exec(one) ?? [];
  const [, otherMinor = '0', otherPatch = '0'] = MAJOR_VERSION.exec(other) ?? [];
  return Number(minor) - Number(otherMinor) || Number(patch) - Number(otherPatch);
}
