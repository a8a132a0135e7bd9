/** The resources of the API server that a node uses, and where they are served. */

export type ApiResource = keyof typeof RESOURCES;

interface ServedResource {
  /** Empty: the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const RESOURCES = {
  nodes: { group: '', version: 'v1', kind: 'Node', namespaced: false },
  pods: { group: '', version: 'v1', kind: 'Pod', namespaced: true },
  configmaps: { group: '', version: 'v1', kind: 'ConfigMap', namespaced: true },
  secrets: { group: '', version: 'v1', kind: 'Secret', namespaced: true },
  persistentvolumeclaims: { group: '', version: 'v1', kind: 'PersistentVolumeClaim', namespaced: true },
  persistentvolumes: { group: '', version: 'v1', kind: 'PersistentVolume', namespaced: false },
  csidrivers: { group: 'storage.k8s.io', version: 'v1', kind: 'CSIDriver', namespaced: false },
  csinodes: { group: 'storage.k8s.io', version: 'v1', kind: 'CSINode', namespaced: false },
  volumeattachments: { group: 'storage.k8s.io', version: 'v1', kind: 'VolumeAttachment', namespaced: false },
  resourceclaims: { group: 'resource.k8s.io', version: 'v1', kind: 'ResourceClaim', namespaced: true },
  resourceslices: { group: 'resource.k8s.io', version: 'v1', kind: 'ResourceSlice', namespaced: false },
  services: { group: '', version: 'v1', kind: 'Service', namespaced: true },
  serviceaccounts: { group: '', version: 'v1', kind: 'ServiceAccount', namespaced: true },
  events: { group: '', version: 'v1', kind: 'Event', namespaced: true },
  poddisruptionbudgets: { group: 'policy', version: 'v1', kind: 'PodDisruptionBudget', namespaced: true },
  leases: { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', namespaced: true },
  runtimeclasses: { group: 'node.k8s.io', version: 'v1', kind: 'RuntimeClass', namespaced: false },
  certificatesigningrequests: {
    group: 'certificates.k8s.io',
    version: 'v1',
    kind: 'CertificateSigningRequest',
    namespaced: false,
  },
  /** A server may have other versions of it. */
  clustertrustbundles: {
    group: 'certificates.k8s.io',
    version: 'v1beta1',
    kind: 'ClusterTrustBundle',
    namespaced: false,
  },
  /** Katalyst's, where it is installed. */
  customnoderesources: {
    group: 'node.katalyst.kubewharf.io',
    version: 'v1alpha1',
    kind: 'CustomNodeResource',
    namespaced: false,
  },
  customnodeconfigs: {
    group: 'config.katalyst.kubewharf.io',
    version: 'v1alpha1',
    kind: 'CustomNodeConfig',
    namespaced: false,
  },
  adminqosconfigurations: {
    group: 'config.katalyst.kubewharf.io',
    version: 'v1alpha1',
    kind: 'AdminQoSConfiguration',
    namespaced: true,
  },
  authconfigurations: {
    group: 'config.katalyst.kubewharf.io',
    version: 'v1alpha1',
    kind: 'AuthConfiguration',
    namespaced: true,
  },
  /** Watched where Katalyst is not installed yet. */
  customresourcedefinitions: {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    namespaced: false,
  },
  tokenreviews: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenReview', namespaced: false },
  subjectaccessreviews: {
    group: 'authorization.k8s.io',
    version: 'v1',
    kind: 'SubjectAccessReview',
    namespaced: false,
  },
} as const satisfies Readonly<Record<string, ServedResource>>;

/** `token`: created on a service account, a TokenRequest. `eviction`: created on a pod, an Eviction of `policy/v1`. */
export type Subresource = 'status' | 'token' | 'eviction';

/** Objects of one resource, of all namespaces where none is given. */
export interface Collection {
  readonly resource: ApiResource;
  readonly namespace?: string;
  /** Default: that of the resource. */
  readonly version?: string;
}

export interface ObjectReference extends Collection {
  readonly name: string;
  readonly subresource?: Subresource;
}

export function servedResource(resource: ApiResource): ServedResource {
  return RESOURCES[resource];
}

/** `/api/v1/namespaces/default/pods/web/status`. */
export function apiPath(target: Collection | ObjectReference): string {
  const served = servedResource(target.resource);
  const { group } = served;
  const { version = served.version } = target;
  const { namespace } = target;
  const { name, subresource } = 'name' in target ? target : {};
  return [
    ...(group === '' ? ['', 'api', version] : ['', 'apis', group, version]),
    ...(namespace === undefined ? [] : ['namespaces', encodeURIComponent(namespace)]),
    target.resource,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource]),
  ].join('/');
}
