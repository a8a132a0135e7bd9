/** What kind a volume is of, which of a pod's volumes anybody wants, and where the files of a volume come from. */
import type { Container, EphemeralContainer, Pod, PodSpec } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';

export type Volume = NonNullable<PodSpec['volumes']>[number];
export type VolumeMount = NonNullable<Container['volumeMounts']>[number];
export type VolumeProjection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

/** Volumes with a folder of their own below the pod's, and the name of the plugin that the kubelet calls it by. */
export const PLUGIN_FOLDERS = {
  emptyDir: 'kubernetes.io~empty-dir',
  downwardAPI: 'kubernetes.io~downward-api',
  projected: 'kubernetes.io~projected',
  configMap: 'kubernetes.io~configmap',
  secret: 'kubernetes.io~secret',
} as const;

export type OwnVolumeKind = keyof typeof PLUGIN_FOLDERS;
export type VolumeKind = OwnVolumeKind | 'hostPath' | 'image';

const KINDS: readonly VolumeKind[] = [
  'emptyDir',
  'hostPath',
  'downwardAPI',
  'projected',
  'configMap',
  'secret',
  'image',
];

/** A volume that says nothing is an emptyDir. Throws a StateletError of kind Unimplemented for other sources. */
export function volumeKind(volume: Volume): VolumeKind {
  const kind = KINDS.find((candidate) => volume[candidate] !== undefined);
  if (kind !== undefined) return kind;
  const source = Object.keys(volume).find((field) => field !== 'name');
  if (source === undefined) return 'emptyDir';
  const message = `a volume of ${source} is not supported; there are ${KINDS.join(', ')}`;
  throw new StateletError('Unimplemented', message);
}

/** Of a hostPath volume: a path that says not from where on begins at the root, as with the kubelet. */
export function hostPathOf({ hostPath }: Volume): string {
  const { path = '' } = hostPath ?? {};
  return path.startsWith('/') ? path : `/${path}`;
}

/** The volumes that a container mounts, in the order of the spec. As with the kubelet, the others are not set up. */
export function usedVolumes({ spec }: Pod): readonly Volume[] {
  if (!spec.volumes?.length) return [];
  const mounted = new Set(podContainers(spec).flatMap(({ volumeMounts = [] }) => volumeMounts.map(nameOf)));
  return spec.volumes.filter(({ name }) => mounted.has(name));
}

/** Those that the container mounts. */
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

/** The files of a volume are those of its sources, one after the other. */
export interface FilesVolume {
  readonly sources: readonly VolumeProjection[];
  /** Of files that have no mode of their own. */
  readonly defaultMode: number;
}

const DEFAULT_MODE = 0o644;

/** A volume of downwardAPI, configMap or secret is a projected volume of one source. */
export function filesVolume(volume: Volume): FilesVolume {
  const { downwardAPI, projected, configMap, secret } = volume;
  const defaultMode = (downwardAPI ?? projected ?? configMap ?? secret)?.defaultMode ?? DEFAULT_MODE;
  if (projected) return { sources: projected.sources ?? [], defaultMode };
  if (downwardAPI) return { sources: [{ downwardAPI: { items: downwardAPI.items ?? [] } }], defaultMode };
  if (configMap) return { sources: [{ configMap }], defaultMode };
  const { secretName: name, items, optional } = secret ?? {};
  const projection = { ...(name !== undefined && { name }), ...(items && { items }) };
  return {
    sources: [{ secret: { ...projection, ...(optional !== undefined && { optional }) } }],
    defaultMode,
  };
}

/** Of a volume of files. As with the kubelet only what a configMap volume holds may get onto a disk. */
export function isKeptOnDisk({ configMap }: Volume): boolean {
  return configMap !== undefined;
}

export type ProjectionKind = keyof VolumeProjection;

const PROJECTION_KINDS: readonly ProjectionKind[] = [
  'downwardAPI',
  'configMap',
  'secret',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
];

/** Undefined where the projection names no source. */
export function projectionKind(projection: VolumeProjection): ProjectionKind | undefined {
  return PROJECTION_KINDS.find((kind) => projection[kind] !== undefined);
}

/** Whether the pod does without this source where there is none. */
export function isOptional({ configMap, secret, clusterTrustBundle }: VolumeProjection): boolean {
  return (configMap ?? secret ?? clusterTrustBundle)?.optional === true;
}
