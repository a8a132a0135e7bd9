/**
 * What the agent relies on in a pod of the API server: types, what is required, names, amounts and paths. All else the server has
 * validated, perhaps by the rules of a newer Kubernetes: unknown fields and unknown choices are no problem.
 */
import { validate } from '../../../generated/pod-validator.js';
import type { SchemaError } from '../../../types/errors.ts';
import type { ManifestProblem } from '../source.ts';
import { child, isTree, items, pathOf, type Place, problemAt, repeated } from './place.ts';
import { kindOf, schemaProblems } from './schema-problems.ts';

const PROBLEMS_SHOWN_MAX = 10;

const IDENTITY = ['name', 'namespace', 'uid'];
/** They become names of files and of containers. */
const NAMES =
  /^\/metadata\/(name|namespace|uid)$|^\/spec\/(volumes|containers|initContainers|ephemeralContainers)\/\d+\/name$/;
const AMOUNTS = /\/(limits|requests|overhead)\/[^/]+$|\/(sizeLimit|divisor)$/;
const TIMES = /^\/metadata\/(creationTimestamp|deletionTimestamp)$/;
const PATHS = /^\/spec\/.*\/(path|subPath|subPathExpr)$/;

/** The first problems of a pod of the API server. Members that are null must have been left out. Never throws. */
export function apiPodProblems(pod: unknown): readonly ManifestProblem[] {
  if (!isTree(pod)) return [{ message: `must be a pod (got ${kindOf(pod)})` }];
  const errors = validate(pod) ? [] : (validate.errors ?? []);
  const root: Place = { path: '', value: pod };
  return [
    ...missingIdentity(root),
    ...schemaProblems(errors.filter(matters).slice(0, PROBLEMS_SHOWN_MAX)),
    ...repeatedNames(root),
  ].slice(0, PROBLEMS_SHOWN_MAX);
}

function matters({ keyword, instancePath, propertyName }: SchemaError): boolean {
  if (propertyName !== undefined) return false;
  if (keyword === 'type' || keyword === 'required') return true;
  if (keyword === 'minItems') return instancePath === '/spec/containers';
  if (keyword !== 'pattern') return false;
  return [NAMES, AMOUNTS, TIMES, PATHS].some((paths) => paths.test(instancePath));
}

function missingIdentity(root: Place): readonly ManifestProblem[] {
  const [metadata] = child(root, 'metadata');
  if (!metadata) return [{ field: pathOf(root, 'metadata'), message: 'is required' }];
  return IDENTITY.filter((field) => metadata.value[field] === undefined).map((field) =>
    problemAt(metadata, field, 'is required'),
  );
}

function repeatedNames(root: Place): readonly ManifestProblem[] {
  return child(root, 'spec').flatMap((spec) => {
    const lists = ['initContainers', 'containers', 'ephemeralContainers'];
    const containers = lists.flatMap((list) => items(spec, list));
    return [...repeated(containers, 'name'), ...repeated(items(spec, 'volumes'), 'name')];
  });
}

// A static pod must not refer to objects of the API server: it may start before the server can be reached, and its mirror pod
// would give the node the right to read those objects. The kubelet refuses such manifests too. An ordinary pod of a manifest has no
// API server at all, but objects of manifests.

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

/**
 * One problem for each reference. `who`: what the pods are called in it. `allowed`: resources that they may refer to. Tolerates a pod
 * that breaks the schema.
 */
export function apiReferenceProblems(
  pod: unknown,
  who: string,
  allowed: readonly string[] = [],
): ManifestProblem[] {
  if (!isTree(pod)) return [];
  const found = child({ path: '', value: pod }, 'spec').flatMap((spec) => [
    ...references(spec, OF_POD),
    ...items(spec, 'volumes').flatMap(volumeReferences),
    ...['initContainers', 'containers'].flatMap((field) => items(spec, field)).flatMap(containerReferences),
  ]);
  return found
    .filter(({ resource }) => !allowed.includes(resource))
    .map(({ place, field, resource }) => problemAt(place, field, `${who} may not reference ${resource}`));
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
