/** Kinds of documents that people have beside their pods, and that nothing here takes: what is to be written instead. */
import { didYouMean } from '../../policies/formats/did-you-mean.ts';
import { shown } from './schema-problems.ts';

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

/** What is to be written instead of a document of that kind; undefined for a kind that may be a mistake in writing. */
export function kindAdvice(apiVersion: unknown, kind: unknown): string | undefined {
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') return undefined;
  const base = kind.replace(/List$/u, '');
  const advice = Object.hasOwn(ADVICE, base) ? ADVICE[base] : undefined;
  if (advice !== undefined) return `a ${base} ${advice}`;
  // Another API's kinds are no pods that somebody has misspelt.
  return apiVersion.includes('/') ? `${shown(kind)} of ${shown(apiVersion)} has no effect here` : undefined;
}

/** The same for a kind that is nobody's. */
export function unknownKind(kind: unknown, wanted: readonly string[]): string {
  const hint = typeof kind === 'string' ? didYouMean(kind, wanted) : '';
  return `must be ${wanted.slice(0, -1).join(', ')} or ${wanted.at(-1) ?? ''} (got ${shown(kind)})${hint}`;
}
