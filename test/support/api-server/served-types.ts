/** The kinds of objects of the double, and where it serves them. */
import { isEventView } from './event-views.ts';

export interface ServedType {
  /** Empty: the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** `status`, `token`, … */
  readonly subresources: readonly string[];
  readonly verbs: readonly string[];
  /** By a CustomResourceDefinition. */
  readonly isCustom?: boolean;
}

export const ALL_VERBS = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
] as const;

interface More {
  readonly short?: readonly string[];
  readonly sub?: readonly string[];
  readonly all?: boolean;
  readonly verbs?: readonly string[];
  readonly singular?: string;
}

const NAMESPACED = true;
const CLUSTER = false;
type Row = readonly [kind: string, plural: string, namespaced: boolean, more?: More];

const ONLY_CREATE: More = { verbs: ['create'] };
const STATUS: More = { sub: ['status'] };
const SCALED: More = { sub: ['status', 'scale'], all: true };

const POD_SUBRESOURCES = [
  'status',
  'log',
  'exec',
  'attach',
  'portforward',
  'proxy',
  'binding',
  'eviction',
].concat(['ephemeralcontainers', 'resize']);

const GROUPS: Readonly<Record<string, readonly Row[]>> = {
  '/v1': [
    ['Binding', 'bindings', NAMESPACED, ONLY_CREATE],
    ['ConfigMap', 'configmaps', NAMESPACED, { short: ['cm'] }],
    ['Endpoints', 'endpoints', NAMESPACED, { short: ['ep'], singular: 'endpoints' }],
    ['Event', 'events', NAMESPACED, { short: ['ev'] }],
    ['LimitRange', 'limitranges', NAMESPACED, { short: ['limits'] }],
    ['Namespace', 'namespaces', CLUSTER, { short: ['ns'], sub: ['status', 'finalize'] }],
    ['Node', 'nodes', CLUSTER, { short: ['no'], sub: ['status', 'proxy'] }],
    ['PersistentVolumeClaim', 'persistentvolumeclaims', NAMESPACED, { short: ['pvc'], sub: ['status'] }],
    ['PersistentVolume', 'persistentvolumes', CLUSTER, { short: ['pv'], sub: ['status'] }],
    ['Pod', 'pods', NAMESPACED, { short: ['po'], all: true, sub: POD_SUBRESOURCES }],
    ['PodTemplate', 'podtemplates', NAMESPACED],
    ['ReplicationController', 'replicationcontrollers', NAMESPACED, { short: ['rc'], ...SCALED }],
    ['ResourceQuota', 'resourcequotas', NAMESPACED, { short: ['quota'], sub: ['status'] }],
    ['Secret', 'secrets', NAMESPACED],
    ['ServiceAccount', 'serviceaccounts', NAMESPACED, { short: ['sa'], sub: ['token'] }],
    ['Service', 'services', NAMESPACED, { short: ['svc'], all: true, sub: ['status'] }],
  ],
  'apiextensions.k8s.io/v1': [
    [
      'CustomResourceDefinition',
      'customresourcedefinitions',
      CLUSTER,
      { short: ['crd', 'crds'], sub: ['status'] },
    ],
  ],
  'apps/v1': [
    ['ControllerRevision', 'controllerrevisions', NAMESPACED],
    ['DaemonSet', 'daemonsets', NAMESPACED, { short: ['ds'], sub: ['status'], all: true }],
    ['Deployment', 'deployments', NAMESPACED, { short: ['deploy'], ...SCALED }],
    ['ReplicaSet', 'replicasets', NAMESPACED, { short: ['rs'], ...SCALED }],
    ['StatefulSet', 'statefulsets', NAMESPACED, { short: ['sts'], ...SCALED }],
  ],
  'batch/v1': [
    ['CronJob', 'cronjobs', NAMESPACED, { short: ['cj'], sub: ['status'], all: true }],
    ['Job', 'jobs', NAMESPACED, { sub: ['status'], all: true }],
  ],
  'authentication.k8s.io/v1': [
    ['SelfSubjectReview', 'selfsubjectreviews', CLUSTER, ONLY_CREATE],
    ['TokenReview', 'tokenreviews', CLUSTER, ONLY_CREATE],
  ],
  'authorization.k8s.io/v1': [
    ['LocalSubjectAccessReview', 'localsubjectaccessreviews', NAMESPACED, ONLY_CREATE],
    ['SelfSubjectAccessReview', 'selfsubjectaccessreviews', CLUSTER, ONLY_CREATE],
    ['SubjectAccessReview', 'subjectaccessreviews', CLUSTER, ONLY_CREATE],
  ],
  'certificates.k8s.io/v1': [
    [
      'CertificateSigningRequest',
      'certificatesigningrequests',
      CLUSTER,
      { short: ['csr'], sub: ['status', 'approval'] },
    ],
  ],
  'certificates.k8s.io/v1beta1': [['ClusterTrustBundle', 'clustertrustbundles', CLUSTER]],
  'coordination.k8s.io/v1': [['Lease', 'leases', NAMESPACED]],
  'events.k8s.io/v1': [['Event', 'events', NAMESPACED, { short: ['ev'] }]],
  'discovery.k8s.io/v1': [['EndpointSlice', 'endpointslices', NAMESPACED]],
  'networking.k8s.io/v1': [['NetworkPolicy', 'networkpolicies', NAMESPACED, { short: ['netpol'] }]],
  'node.k8s.io/v1': [['RuntimeClass', 'runtimeclasses', CLUSTER]],
  'policy/v1': [
    ['PodDisruptionBudget', 'poddisruptionbudgets', NAMESPACED, { short: ['pdb'], sub: ['status'] }],
  ],
  'rbac.authorization.k8s.io/v1': [
    ['ClusterRoleBinding', 'clusterrolebindings', CLUSTER],
    ['ClusterRole', 'clusterroles', CLUSTER],
    ['RoleBinding', 'rolebindings', NAMESPACED],
    ['Role', 'roles', NAMESPACED],
  ],
  'resource.k8s.io/v1': [
    ['DeviceClass', 'deviceclasses', CLUSTER],
    ['ResourceClaim', 'resourceclaims', NAMESPACED, STATUS],
    ['ResourceClaimTemplate', 'resourceclaimtemplates', NAMESPACED],
    ['ResourceSlice', 'resourceslices', CLUSTER],
  ],
  'scheduling.k8s.io/v1': [['PriorityClass', 'priorityclasses', CLUSTER, { short: ['pc'] }]],
  'storage.k8s.io/v1': [
    ['CSIDriver', 'csidrivers', CLUSTER],
    ['CSINode', 'csinodes', CLUSTER],
    ['StorageClass', 'storageclasses', CLUSTER, { short: ['sc'] }],
    ['VolumeAttachment', 'volumeattachments', CLUSTER, STATUS],
  ],
};

export const SERVED_TYPES: readonly ServedType[] = Object.entries(GROUPS).flatMap(([place, rows]) => {
  const [group = '', version = ''] = place.split('/');
  return rows.map(([kind, plural, namespaced, more = {}]) => ({
    group,
    version,
    kind,
    plural,
    singular: more.singular ?? kind.toLowerCase(),
    namespaced,
    shortNames: more.short ?? [],
    categories: more.all === true ? ['all'] : [],
    subresources: more.sub ?? [],
    verbs: more.verbs ?? ALL_VERBS,
  }));
});

/** Usage of nodes and pods, as metrics-server serves it. Only read. */
export const METRICS_TYPES: readonly ServedType[] = (['nodes', 'pods'] as const).map((plural) => ({
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: plural === 'nodes' ? 'NodeMetrics' : 'PodMetrics',
  plural,
  singular: '',
  namespaced: plural === 'pods',
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['get', 'list'],
}));

/** Added and removed while the double runs, which is the only server of its process. */
let customTypes: readonly ServedType[] = [];

/** From now on, these custom types are served. Returns those that are served no longer. */
export function serveCustomTypes(types: readonly ServedType[]): readonly ServedType[] {
  const keys = new Set(types.map(storeKey));
  const gone = customTypes.filter((type) => !keys.has(storeKey(type)));
  customTypes = types;
  return gone;
}

function everything(): readonly ServedType[] {
  return [...SERVED_TYPES, ...METRICS_TYPES, ...customTypes];
}

/** Group and version with their types, in the order of discovery. */
export function groupVersions(): readonly (readonly [
  group: string,
  version: string,
  types: readonly ServedType[],
])[] {
  const all = everything();
  return [...new Set(all.map(({ group, version }) => `${group}/${version}`))].map((place) => {
    const [group = '', version = ''] = place.split('/');
    const types = all.filter((type) => type.group === group && type.version === version);
    return [group, version, types] as const;
  });
}

export function servedType(group: string, version: string, plural: string): ServedType | undefined {
  return everything().find(
    (type) => type.plural === plural && type.group === group && type.version === version,
  );
}

/** Each of a kind of its own in the store. */
const STORED_TYPES = SERVED_TYPES.filter((type) => !isEventView(type));

export function storedTypes(): readonly ServedType[] {
  return [...STORED_TYPES, ...customTypes];
}

const byStoreKey = new Map(STORED_TYPES.map((type) => [storeKey(type), type]));

/** Under which name the store has objects of the type: `leases.coordination.k8s.io`. */
export function storeKey({ plural, group }: { readonly plural: string; readonly group: string }): string {
  return group === '' || isEventView({ group }) ? plural : `${plural}.${group}`;
}

/** The type whose objects the store has under that name. */
export function typeOf(key: string): ServedType {
  const type = byStoreKey.get(key) ?? customTypes.find((one) => storeKey(one) === key);
  if (type === undefined) throw new Error(`no type is served as ${key}`);
  return type;
}

export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string {
  return group === '' ? version : `${group}/${version}`;
}
