/** The defaults that the API server sets on new objects, and the fields that it always sets itself. */
import { servedPodStatus } from '../../../src/simulation/api/served-pod-rules.ts';
import type { PodSpec, PodStatus } from '../../../src/types/kubernetes.ts';
import { withDefaults } from '../../../src/agent/sources/defaults/pod-defaults.ts';
import type { Draft, User } from './context.ts';

export interface NewObjectFacts {
  readonly user: User;
  /** An address that no other service has. */
  readonly clusterIP: () => string;
}

type Defaults = (object: Draft) => void;
type Preparation = (object: Draft, facts: NewObjectFacts) => void;

const withTemplate: Defaults = (object) => {
  const { template } = object.spec ?? {};
  if (template?.spec !== undefined) template.spec = withDefaults(template.spec as PodSpec);
};

const workload =
  (fields: Draft): Defaults =>
  (object) => {
    withTemplate(object);
    object.spec = { ...fields, ...object.spec };
  };

/** A node without nodeInfo is served with these texts. */
const NODE_INFO = [
  'architecture',
  'bootID',
  'containerRuntimeVersion',
  'kernelVersion',
  'kubeProxyVersion',
].concat(['kubeletVersion', 'machineID', 'operatingSystem', 'osImage', 'systemUUID']);

/** The defaults of sent objects, by kind. */
const DEFAULTS: Readonly<Record<string, Defaults>> = {
  pods: (pod) => {
    if (pod.status !== undefined) pod.status = servedPodStatus(pod.status as PodStatus);
    const { ephemeralContainers } = (pod.spec ??= {}) as Draft;
    pod.spec = withDefaults({ ...pod.spec, containers: pod.spec.containers ?? [] } as PodSpec);
    if (ephemeralContainers !== undefined)
      pod.spec.ephemeralContainers = withDefaults({ containers: ephemeralContainers }).containers;
  },
  nodes: (node) => {
    const nodeInfo = Object.fromEntries(NODE_INFO.map((name) => [name, '']));
    const status: Draft = { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, ...node.status };
    status.nodeInfo = { ...nodeInfo, ...status.nodeInfo };
    if (status.capacity !== undefined) status.allocatable ??= { ...status.capacity };
    const times = { lastHeartbeatTime: null, lastTransitionTime: null };
    if (status.conditions !== undefined)
      status.conditions = (status.conditions as Draft[]).map((condition) => ({ ...times, ...condition }));
    node.status = status;
  },
  namespaces: (namespace) => {
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      'kubernetes.io/metadata.name': namespace.metadata.name,
    };
  },
  secrets: (secret) => {
    secret.type ??= 'Opaque';
    encodeTexts(secret);
  },
  services: serviceDefaults,
  persistentvolumeclaims: (claim) => {
    claim.spec = { volumeMode: 'Filesystem', ...claim.spec };
    claim.status = { phase: 'Pending', ...claim.status };
  },
  persistentvolumes: (volume) => {
    volume.spec = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', ...volume.spec };
    if (volume.spec.hostPath !== undefined) volume.spec.hostPath.type ??= '';
    volume.status = { phase: 'Pending', ...volume.status };
  },
  'priorityclasses.scheduling.k8s.io': (priority) => {
    priority.preemptionPolicy ??= 'PreemptLowerPriority';
  },
  'storageclasses.storage.k8s.io': (storage) => {
    storage.reclaimPolicy ??= 'Delete';
    storage.volumeBindingMode ??= 'Immediate';
  },
  'daemonsets.apps': workload({ revisionHistoryLimit: 10 }),
  'deployments.apps': workload({ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }),
  'replicasets.apps': workload({ replicas: 1 }),
  'statefulsets.apps': workload({ replicas: 1, podManagementPolicy: 'OrderedReady' }),
  'jobs.batch': workload({ parallelism: 1, completions: 1, backoffLimit: 6, suspend: false }),
};

const withoutStatus: Preparation = (object) => {
  object.status = {};
};

/** The fields that the server always sets itself in a new object. */
const PREPARATIONS: Readonly<Record<string, Preparation>> = {
  pods: (pod) => {
    delete pod.spec.ephemeralContainers;
  },
  namespaces: (namespace) => {
    namespace.spec = { finalizers: ['kubernetes'] };
    namespace.status = { phase: 'Active' };
  },
  services: (service, { clusterIP }) => {
    const { spec } = service;
    service.status = { loadBalancer: {} };
    if (spec.type === 'ExternalName') return;
    spec.ipFamilies ??= ['IPv4'];
    spec.ipFamilyPolicy ??= 'SingleStack';
    spec.clusterIP ??= clusterIP();
    spec.clusterIPs ??= [spec.clusterIP];
  },
  persistentvolumeclaims: (claim) => {
    claim.status = { phase: 'Pending' };
    addFinalizer(claim, 'kubernetes.io/pvc-protection');
  },
  persistentvolumes: (volume) => {
    volume.status = { phase: 'Pending' };
    addFinalizer(volume, 'kubernetes.io/pv-protection');
  },
  'certificatesigningrequests.certificates.k8s.io': (request, { user }) => {
    const { name: username, groups, uid, extra } = user;
    request.spec = { ...request.spec, username, groups, ...(uid && { uid }), ...(extra && { extra }) };
    request.status = {};
  },
  'poddisruptionbudgets.policy': (budget) => {
    budget.status = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
  },
  'daemonsets.apps': withoutStatus,
  'deployments.apps': withoutStatus,
  'replicasets.apps': withoutStatus,
  'statefulsets.apps': withoutStatus,
  'jobs.batch': withoutStatus,
};

/** Fields of a kind that are served even if they were never set. */
const ALWAYS: Readonly<Record<string, Draft>> = {
  events: {
    ...{ involvedObject: {}, source: {}, firstTimestamp: null, lastTimestamp: null, eventTime: null },
    ...{ reportingComponent: '', reportingInstance: '' },
  },
};

/** Those fields, of an object that has nothing else. */
export function alwaysTold(key: string): Draft {
  return ALWAYS[key] ?? {};
}

/** Changes the object. */
export function setDefaults(key: string, object: Draft): void {
  for (const [name, value] of Object.entries(alwaysTold(key))) object[name] ??= value;
  DEFAULTS[key]?.(object);
}

/** Changes the new object. */
export function prepareNew(key: string, object: Draft, facts: NewObjectFacts): void {
  PREPARATIONS[key]?.(object, facts);
}

/** `stringData` is what a client writes, `data` is what is stored. */
export function encodeTexts(secret: Draft): void {
  if (secret.stringData === undefined) return;
  const texts = Object.entries(secret.stringData as Record<string, string>);
  const encoded = texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  secret.data = { ...secret.data, ...Object.fromEntries(encoded) };
  delete secret.stringData;
}

function addFinalizer(object: Draft, finalizer: string): void {
  const finalizers: string[] = object.metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
}

function serviceDefaults(service: Draft): void {
  const spec: Draft = { type: 'ClusterIP', sessionAffinity: 'None', ...service.spec };
  service.spec = spec;
  for (const port of (spec.ports ?? []) as Draft[]) {
    port.protocol ??= 'TCP';
    port.targetPort ??= port.port;
  }
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
}
