/** What the documents of a manifest are: pods, objects that pods refer to, lists of these, or something that has no effect here. */
import { isTree, type Tree } from '../rules/place.ts';
import { kindOf, shown } from '../rules/schema-problems.ts';
import { OBJECT_KINDS, type ObjectKind } from '../objects/manifest-object.ts';
import type { ManifestProblem, ManifestSource } from '../source.ts';
import { didYouMean } from '../../policies/formats/did-you-mean.ts';

export interface ManifestDocument {
  /** Undefined where a problem says that the document does not count. */
  readonly kind?: 'Pod' | ObjectKind;
  readonly value: unknown;
  /** Comes before the field in problems: `document 2: items[0].`. */
  readonly prefix: string;
  readonly problems: readonly ManifestProblem[];
}

/** The documents in one document: several where it is a list. */
export function documentsIn(value: unknown, prefix: string, source: ManifestSource): ManifestDocument[] {
  const problem = (...problems: readonly ManifestProblem[]) => [{ value, prefix, problems }];
  if (!isTree(value)) return problem(noObject(value));
  const item = itemKind(value, source);
  if (item === undefined) return [documentOf(value, prefix, source)];
  const { items = [] } = value;
  if (!Array.isArray(items)) return problem({ field: 'items', message: 'must be array' });
  return items.map((one: unknown, index) => {
    const at = `${prefix}items[${index}].`;
    if (!isTree(one)) return { value: one, prefix: at, problems: [noObject(one)] };
    // The items of a PodList may leave out apiVersion and kind.
    return documentOf(item === '' ? one : { apiVersion: 'v1', kind: item, ...one }, at, source);
  });
}

function noObject(value: unknown): ManifestProblem {
  return { message: `must be an object with apiVersion, kind, metadata and spec (got ${kindOf(value)})` };
}

/** As with the kubelet, manifests of static pods have only pods. */
function kindsOf(source: ManifestSource): readonly ('Pod' | ObjectKind)[] {
  return source === 'local' ? ['Pod', ...OBJECT_KINDS] : ['Pod'];
}

/** The kind of a list's items, which is empty where each says it itself; undefined for what is no list. */
function itemKind({ apiVersion, kind }: Tree, source: ManifestSource): string | undefined {
  if (apiVersion !== 'v1' || typeof kind !== 'string') return undefined;
  return kind === 'List' ? '' : kindsOf(source).find((item) => kind === `${item}List`);
}

function documentOf(value: Tree, prefix: string, source: ManifestSource): ManifestDocument {
  const kinds = kindsOf(source);
  const { apiVersion } = value;
  const kind = kinds.find((one) => one === value.kind);
  if (kind !== undefined && apiVersion === 'v1') return { kind, value, prefix, problems: [] };
  const advice = kind === undefined ? adviceOn(value, source) : undefined;
  if (advice !== undefined) return { value, prefix, problems: [advice] };
  const problems = [
    ...(apiVersion === 'v1' ? [] : [versionProblem(apiVersion)]),
    ...(kind === undefined ? [kindProblem(value.kind, [...kinds, 'List'])] : []),
  ];
  return { value, prefix, problems };
}

function adviceOn({ apiVersion, kind }: Tree, source: ManifestSource): ManifestProblem | undefined {
  const isObject = apiVersion === 'v1' && OBJECT_KINDS.some((one) => one === kind);
  const message = isObject
    ? `a ${String(kind)} is for ordinary pods: static pods may refer to none, so bring it and its pods with --pods`
    : kindAdvice(apiVersion, kind);
  if (message === undefined) return undefined;
  // As with the kubelet, a manifest of static pods counts as a whole or not at all.
  return { field: 'kind', message, ...(source === 'local' && { leavesOut: true }) };
}

function versionProblem(apiVersion: unknown): ManifestProblem {
  const message = apiVersion === undefined ? 'is required' : `must be v1 (got ${shown(apiVersion)})`;
  return { field: 'apiVersion', message };
}

function kindProblem(kind: unknown, wanted: readonly string[]): ManifestProblem {
  return { field: 'kind', message: kind === undefined ? 'is required' : unknownKind(kind, wanted) };
}

const OF_TEMPLATE = 'has no controller here: write its spec.template as a Pod (apiVersion: v1, kind: Pod)';
const NO_NETWORK =
  'has no effect here, since there is no network of a cluster: give the container a hostPort, or let its pod use hostNetwork';
const NO_RIGHTS = 'has no effect here, since there is no API server to have rights at: leave it out';
const OF_CLUSTER = 'has no effect on a node without a cluster: leave it out';
const OF_AMOUNTS = 'has no effect here: write requests and limits into the pods';

const ADVICE: Readonly<Record<string, string>> = {
  Deployment: OF_TEMPLATE,
  ReplicaSet: OF_TEMPLATE,
  DaemonSet: OF_TEMPLATE,
  ReplicationController: OF_TEMPLATE,
  StatefulSet: `${OF_TEMPLATE}, and each of its volumeClaimTemplates as a PersistentVolumeClaim`,
  Job: `${OF_TEMPLATE} with restartPolicy: OnFailure or Never`,
  CronJob:
    'has no controller here: write spec.jobTemplate.spec.template as a Pod (apiVersion: v1, kind: Pod), and let a timer of the machine put it here',
  PodTemplate: 'starts no pod: write its template as a Pod',
  Service: NO_NETWORK,
  Endpoints: NO_NETWORK,
  EndpointSlice: NO_NETWORK,
  Ingress: NO_NETWORK,
  NetworkPolicy: NO_NETWORK,
  ServiceAccount: NO_RIGHTS,
  Role: NO_RIGHTS,
  RoleBinding: NO_RIGHTS,
  ClusterRole: NO_RIGHTS,
  ClusterRoleBinding: NO_RIGHTS,
  PersistentVolume:
    'has no effect here: a PersistentVolumeClaim gets a folder below the root folder; for a folder of yours, write a hostPath volume into the pod',
  StorageClass: 'has no effect here: every PersistentVolumeClaim gets a folder below the root folder',
  Namespace: 'is not needed here: metadata.namespace of a pod and of its objects is enough',
  PriorityClass: 'has no effect here: write its value as spec.priority of the pod',
  LimitRange: OF_AMOUNTS,
  ResourceQuota: OF_AMOUNTS,
  HorizontalPodAutoscaler: OF_CLUSTER,
  PodDisruptionBudget: OF_CLUSTER,
  Node: OF_CLUSTER,
  Event: OF_CLUSTER,
};

/** The advice for a document of that kind; undefined for a kind that may be misspelt. */
function kindAdvice(apiVersion: unknown, kind: unknown): string | undefined {
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') return undefined;
  const base = kind.replace(/List$/u, '');
  const advice = Object.hasOwn(ADVICE, base) ? ADVICE[base] : undefined;
  if (advice !== undefined) return `a ${base} ${advice}`;
  // Another API's kinds are no pods that somebody has misspelt.
  return apiVersion.includes('/') ? `${shown(kind)} of ${shown(apiVersion)} has no effect here` : undefined;
}

/** The same for an unknown kind. */
function unknownKind(kind: unknown, wanted: readonly string[]): string {
  const hint = typeof kind === 'string' ? didYouMean(kind, wanted) : '';
  return `must be ${wanted.slice(0, -1).join(', ')} or ${wanted.at(-1) ?? ''} (got ${shown(kind)})${hint}`;
}
