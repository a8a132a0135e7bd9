import type {
  ClusterTrustBundle,
  ConfigMap,
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ResourceClaim,
  Secret,
  Service,
  ServiceAccount,
  TrustBundleSelection,
  VolumeAttachment,
} from './kubernetes.ts';

/** What a pod wants of a token of its service account: a `serviceAccountToken` of a projected volume. */
export interface TokenWish {
  /** Default: that of the API server. */
  readonly audience?: string;
  readonly expirationSeconds?: number;
}

/** The services of the cluster, of all namespaces. */
export interface KnownServices {
  /** False until they have been listed once. */
  readonly listed: boolean;
  readonly services: readonly Service[];
}

/**
 * The objects of the API server that pods refer to. They are secrets: nothing of their contents may get into logs, events or
 * errors.
 */
export interface ApiObjects {
  /** The pod is being synced: what its spec refers to is kept up to date until the pod is forgotten. */
  registerPod(pod: Pod): void;
  /** Undefined where there is none. Rejects if the server does not answer. */
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  /** Undefined where there is none. Rejects if the server does not answer. */
  secret(namespace: string, name: string): Promise<Secret | undefined>;
  /** Undefined where there is none. Rejects if the server does not answer. */
  persistentVolumeClaim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined>;
  /** Undefined where there is none. Rejects if the server does not answer. */
  persistentVolume(name: string): Promise<PersistentVolume | undefined>;
  /** The trust bundles that the selection names; none where there is none. The pod is synced when they change. */
  clusterTrustBundles(pod: Pod, selection: TrustBundleSelection): Promise<readonly ClusterTrustBundle[]>;
  /** The labels of this node's Node object, as it was last seen; undefined while none was seen. */
  nodeLabels(): Readonly<Record<string, string>> | undefined;
  /** The services as they are known now. They are watched from the agent's start on. */
  services(): KnownServices;
  /** Undefined where there is none. Rejects if the server does not answer. */
  serviceAccount(namespace: string, name: string): Promise<ServiceAccount | undefined>;
  /** A token of the pod's service account, that is valid only while there is this pod. */
  token(pod: Pod, wish: TokenWish): Promise<string>;
  /** The volumes of the pod are gone: what only it refers to is forgotten, and its tokens are. */
  forgetPod(uid: string): void;
}

/** The objects of the API server by which volumes of CSI drivers come to this node. */
export interface StorageObjects {
  /** Undefined where there is none. Rejects if the server does not answer. */
  csiDriver(name: string): Promise<CSIDriver | undefined>;
  /** Undefined where there is none. Rejects if the server does not answer. */
  volumeAttachment(name: string): Promise<VolumeAttachment | undefined>;
  /** The claim as it is then. `patch`: a strategic merge patch. */
  patchClaimStatus(claim: PersistentVolumeClaim, patch: object): Promise<PersistentVolumeClaim>;
  /** A secret that a PersistentVolume names: no pod refers to it. Undefined where there is none. Rejects if the server does not answer. */
  volumeSecret(namespace: string, name: string): Promise<Secret | undefined>;
}

/** The objects of the API server by which pods have devices of DRA drivers. */
export interface ResourceClaimObjects {
  /** Undefined where there is none. Rejects if the server does not answer. */
  resourceClaim(namespace: string, name: string): Promise<ResourceClaim | undefined>;
}
