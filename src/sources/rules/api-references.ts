/**
 * A static pod must not refer to objects of the API server: it may start before the server can be reached, and its mirror pod
 * would give the node the right to read those objects. The kubelet refuses such manifests too. An ordinary pod of a manifest has no
 * API server at all.
 */
import { child, isTree, items, type Place, problemAt } from './place.ts';
import type { ManifestProblem } from '../source.ts';

/** The resource that a field refers to, in the kubelet's words. */
const OF_POD: Readonly<Record<string, string>> = {
  serviceAccountName: 'serviceaccounts',
  serviceAccount: 'serviceaccounts',
  imagePullSecrets: 'secrets',
  resourceClaims: 'resourceclaims',
};
const OF_VOLUME: Readonly<Record<string, string>> = {
  configMap: 'configmaps',
  secret: 'secrets',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  csi: 'csidrivers (via CSI volumes)',
  azureFile: 'secrets',
  glusterfs: 'endpoints',
};
const OF_PROJECTION: Readonly<Record<string, string>> = {
  configMap: 'configmaps',
  secret: 'secrets',
  serviceAccountToken: 'serviceaccounts',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
};
const OF_VOLUME_SOURCE: Readonly<Record<string, string>> = {
  secretRef: 'secrets',
  nodePublishSecretRef: 'secrets',
};
const OF_VARIABLES: Readonly<Record<string, string>> = { configMapRef: 'configmaps', secretRef: 'secrets' };
const OF_VALUE: Readonly<Record<string, string>> = { configMapKeyRef: 'configmaps', secretKeyRef: 'secrets' };

/** One problem for each reference. `who`: what the pods are called in it. Tolerates a pod that breaks the schema. */
export function apiReferenceProblems(pod: unknown, who: string): ManifestProblem[] {
  if (!isTree(pod)) return [];
  const found = child({ path: '', value: pod }, 'spec').flatMap((spec) => [
    ...references(spec, OF_POD),
    ...items(spec, 'volumes').flatMap(volumeReferences),
    ...['initContainers', 'containers'].flatMap((field) => items(spec, field)).flatMap(containerReferences),
  ]);
  return found.map(({ place, field, resource }) =>
    problemAt(place, field, `${who} may not reference ${resource}`),
  );
}

interface Reference {
  readonly place: Place;
  readonly field: string;
  readonly resource: string;
}

function references(place: Place, resources: Readonly<Record<string, string>>): Reference[] {
  return Object.entries(resources)
    .filter(([field]) => isSet(place.value[field]))
    .map(([field, resource]) => ({ place, field, resource }));
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);
}

function volumeReferences(volume: Place): Reference[] {
  const projections = child(volume, 'projected').flatMap((projected) => items(projected, 'sources'));
  const sources = Object.keys(volume.value).flatMap((field) => child(volume, field));
  return [
    ...references(volume, OF_VOLUME),
    ...projections.flatMap((projection) => references(projection, OF_PROJECTION)),
    ...sources.flatMap((source) => references(source, OF_VOLUME_SOURCE)),
  ];
}

function containerReferences(container: Place): Reference[] {
  const values = items(container, 'env').flatMap((variable) => child(variable, 'valueFrom'));
  return [
    ...items(container, 'envFrom').flatMap((from) => references(from, OF_VARIABLES)),
    ...values.flatMap((value) => references(value, OF_VALUE)),
  ];
}
