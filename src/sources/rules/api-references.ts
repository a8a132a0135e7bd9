/**
 * A static pod must not refer to objects of the API server: it may start before the server can be reached, and its mirror pod
 * would give the node the right to read those objects. The kubelet refuses such manifests too.
 */
import { child, isTree, items, pathOf, type Place } from './place.ts';
import type { ManifestProblem } from '../source.ts';

const VOLUMES = [
  'configMap',
  'secret',
  'persistentVolumeClaim',
  'ephemeral',
  'csi',
  'azureFile',
  'glusterfs',
];
const PROJECTIONS = ['configMap', 'secret', 'serviceAccountToken', 'clusterTrustBundle', 'podCertificate'];

/** One problem for each reference. Tolerates a pod that breaks the schema. */
export function apiReferenceProblems(pod: unknown): ManifestProblem[] {
  if (!isTree(pod)) return [];
  const places = child({ path: '', value: pod }, 'spec').flatMap((spec) => [
    ...['serviceAccountName', 'serviceAccount', 'imagePullSecrets', 'resourceClaims'].flatMap((field) =>
      isSet(spec.value[field]) ? [pathOf(spec, field)] : [],
    ),
    ...items(spec, 'volumes').flatMap(volumeReferences),
    ...['initContainers', 'containers'].flatMap((field) => items(spec, field)).flatMap(containerReferences),
  ]);
  return places.map((field) => ({
    field,
    message: 'a pod of a file or URL cannot refer to objects of the API server',
  }));
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);
}

function present(place: Place, fields: readonly string[]): string[] {
  return fields.filter((field) => place.value[field] !== undefined).map((field) => pathOf(place, field));
}

function volumeReferences(volume: Place): string[] {
  const projections = child(volume, 'projected').flatMap((projected) => items(projected, 'sources'));
  const sources = Object.keys(volume.value).flatMap((field) => child(volume, field));
  return [
    ...present(volume, VOLUMES),
    ...projections.flatMap((projection) => present(projection, PROJECTIONS)),
    ...sources.flatMap((source) => present(source, ['secretRef', 'nodePublishSecretRef'])),
  ];
}

function containerReferences(container: Place): string[] {
  const values = items(container, 'env').flatMap((variable) => child(variable, 'valueFrom'));
  return [
    ...items(container, 'envFrom').flatMap((from) => present(from, ['configMapRef', 'secretRef'])),
    ...values.flatMap((value) => present(value, ['configMapKeyRef', 'secretKeyRef'])),
  ];
}
