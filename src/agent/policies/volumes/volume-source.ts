/** The kind of a volume, the volumes that a pod's containers mount, and the sources of a volume's files. */
import type { Container, EphemeralContainer, Pod, PodSpec } from '../../../types/kubernetes.ts';
import { StateletError } from '../../../types/errors.ts';

export type Volume = NonNullable<PodSpec['volumes']>[number];
export type VolumeMount = NonNullable<Container['volumeMounts']>[number];
export type VolumeProjection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

interface VolumeKindFacts {
  /** The kubelet's name of the volume plugin, after which its folders are named. */
  readonly plugin: string;
  /** Containers can only read it. */
  readonly isReadOnly?: boolean;
  /** Its content does not belong to the pod. */
  readonly isPersistent?: boolean;
  /** Only for PersistentVolumes: a pod's spec cannot name it. */
  readonly needsClaim?: boolean;
}

/** By the field that names the kind in the spec of a pod, or of a PersistentVolume. `src/agent/runtime/volumes/kinds` sets them up. */
const KINDS = {
  emptyDir: { plugin: 'kubernetes.io/empty-dir' },
  hostPath: { plugin: 'kubernetes.io/host-path' },
  downwardAPI: { plugin: 'kubernetes.io/downward-api', isReadOnly: true },
  projected: { plugin: 'kubernetes.io/projected', isReadOnly: true },
  configMap: { plugin: 'kubernetes.io/configmap', isReadOnly: true },
  secret: { plugin: 'kubernetes.io/secret', isReadOnly: true },
  image: { plugin: 'kubernetes.io/image', isReadOnly: true },
  local: { plugin: 'kubernetes.io/local-volume', isPersistent: true, needsClaim: true },
  csi: { plugin: 'kubernetes.io/csi', isPersistent: true },
} as const satisfies Readonly<Record<string, VolumeKindFacts>>;

export type VolumeKindName = keyof typeof KINDS;

export const VOLUME_KINDS: Readonly<Record<VolumeKindName, VolumeKindFacts>> = KINDS;

const KINDS_OF_PODS = (Object.keys(KINDS) as VolumeKindName[]).filter(
  (kind) => !VOLUME_KINDS[kind].needsClaim,
);
const KINDS_BY_CLAIM = ['persistentVolumeClaim', 'ephemeral'];

/**
 * A volume without a source is an emptyDir. Throws a StateletError of kind Unimplemented for a source that is not known, and for one that
 * needs a claim.
 */
export function volumeKind(volume: Volume): VolumeKindName {
  const kind = KINDS_OF_PODS.find(
    (candidate) => (volume as Record<string, unknown>)[candidate] !== undefined,
  );
  if (kind !== undefined) return kind;
  const source = Object.keys(volume).find((field) => field !== 'name');
  if (source === undefined) return 'emptyDir';
  const message = `a volume of ${source} is not supported; there are ${[...KINDS_OF_PODS, ...KINDS_BY_CLAIM].join(', ')}`;
  throw new StateletError('Unimplemented', message);
}

const KINDS_OF_FILES = ['configMap', 'secret', 'projected', 'downwardAPI'] as const;

/** The kind of a volume whose files the agent writes. As with the kubelet, only such volumes are set up again with every sync. */
export function kindOfFiles(volume: Volume): (typeof KINDS_OF_FILES)[number] | undefined {
  return KINDS_OF_FILES.find((kind) => volume[kind] !== undefined);
}

/** The kubelet's name of what sets the volume up, with the name of its CSI driver. */
export function qualifiedPlugin(kind: VolumeKindName, driver: string | undefined): string {
  const { plugin } = VOLUME_KINDS[kind];
  return driver === undefined ? plugin : `${plugin}:${driver}`;
}

/** The folder of all volumes of the kind, in the folder of a pod's volumes. */
export function pluginFolder(kind: VolumeKindName): string {
  return VOLUME_KINDS[kind].plugin.replace('/', '~');
}

/** Folders of volumes whose content does not belong to the pod. */
export const PERSISTENT_FOLDERS: ReadonlySet<string> = new Set(
  (Object.keys(KINDS) as VolumeKindName[])
    .filter((kind) => VOLUME_KINDS[kind].isPersistent)
    .map(pluginFolder),
);

/** The path of a hostPath volume. As with the kubelet, a relative path begins at the root. */
export function hostPathOf({ path }: NonNullable<Volume['hostPath']>): string {
  return path.startsWith('/') ? path : `/${path}`;
}

/** The volumes that a container of the pod uses, in the order of the spec. As with the kubelet, only these are set up. */
export function usedVolumes({ spec }: Pod): readonly Volume[] {
  if (!spec.volumes?.length) return [];
  const used = new Set(
    podContainers(spec).flatMap(({ volumeMounts = [], volumeDevices = [] }) =>
      [...volumeMounts, ...volumeDevices].map(nameOf),
    ),
  );
  return spec.volumes.filter(({ name }) => used.has(name));
}

export function imageVolumesOf(
  { spec }: Pod,
  { volumeMounts = [] }: Container | EphemeralContainer,
): readonly Volume[] {
  const mounted = new Set(volumeMounts.map(nameOf));
  return (spec.volumes ?? []).filter(({ name, image }) => image !== undefined && mounted.has(name));
}

export function podContainers(spec: PodSpec): readonly (Container | EphemeralContainer)[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

/** The sources of a volume of files, one after the other. A volume of downwardAPI, configMap or secret has one. */
export function fileSources({
  downwardAPI,
  projected,
  configMap,
  secret,
}: Volume): readonly VolumeProjection[] {
  if (projected) return projected.sources ?? [];
  if (downwardAPI) return [{ downwardAPI: { items: downwardAPI.items ?? [] } }];
  if (configMap) return [{ configMap }];
  const { secretName: name, items, optional } = secret ?? {};
  const projection = { name, items };
  return [{ secret: { ...projection, optional } }];
}

/**
 * The mode of files without a mode of their own. The API server, and the defaults of manifests, have set it: as with the kubelet, a
 * volume without it gets no files. Then it throws a StateletError of kind InvalidArgument.
 */
export function filesMode({ downwardAPI, projected, configMap, secret }: Volume): number {
  const { defaultMode } = downwardAPI ?? projected ?? configMap ?? secret ?? {};
  if (defaultMode != null) return defaultMode;
  throw new StateletError('InvalidArgument', 'no defaultMode used, not even the default value for it');
}

/** Kinds whose files the agent writes, and keeps off the disk. */
export const KINDS_IN_MEMORY: ReadonlySet<VolumeKindName> = new Set(['downwardAPI', 'projected', 'secret']);

/** Whether the files of a volume may be kept on a disk. As with the kubelet, only those of a configMap volume may. */
export function isKeptOnDisk({ configMap }: Volume): boolean {
  return configMap !== undefined;
}

export type ProjectionKind = keyof VolumeProjection;

/** In the kubelet's order: the first that a source has is the one that counts. */
const PROJECTION_KINDS: readonly ProjectionKind[] = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
];

/** Undefined if the projection has no source. */
export function projectionKind(projection: VolumeProjection): ProjectionKind | undefined {
  return PROJECTION_KINDS.find((kind) => projection[kind] !== undefined);
}

/** Whether the pod starts without this source if its object does not exist. */
export function isOptional({ configMap, secret, clusterTrustBundle }: VolumeProjection): boolean {
  return (configMap ?? secret ?? clusterTrustBundle)?.optional === true;
}

/** The object of a source does not exist. */
export function missingSource({ configMap, secret, clusterTrustBundle }: VolumeProjection): StateletError {
  if (clusterTrustBundle?.signerName !== undefined) {
    const what = 'combination of signerName and labelSelector matched zero ClusterTrustBundles';
    return new StateletError('NotFound', what);
  }
  const kind = clusterTrustBundle
    ? 'clustertrustbundle.certificates.k8s.io'
    : secret
      ? 'secret'
      : 'configmap';
  const { name = '' } = clusterTrustBundle ?? secret ?? configMap ?? {};
  return new StateletError('NotFound', `${kind} "${name}" not found`);
}
