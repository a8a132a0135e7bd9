/**
 * Kubernetes objects as plain JSON. Their types come from @kubernetes/client-node, with RFC 3339 strings in place of `Date`. The
 * library itself is not loaded.
 */
import type {
  AuthenticationV1TokenRequest,
  CoreV1Event,
  V1CSIDriver,
  V1CSINode,
  V1CertificateSigningRequest,
  V1ConfigMap,
  V1Container,
  V1ContainerState,
  V1ContainerStatus,
  V1EphemeralContainer,
  V1Lease,
  V1Node,
  V1NodeAddress,
  V1NodeCondition,
  V1NodeSelectorRequirement,
  V1NodeSelectorTerm,
  V1NodeStatus,
  V1NodeSystemInfo,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodCondition,
  V1PodSpec,
  V1PodStatus,
  ResourceV1ResourceClaim,
  V1ResourceSlice,
  V1RuntimeClass,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1Taint,
  V1beta1ClusterTrustBundle,
  V1ClusterTrustBundleProjection,
  V1LabelSelector,
  V1TokenRequestSpec,
  V1Toleration,
  V1VolumeAttachment,
} from '@kubernetes/client-node';

/** A type of the API as JSON: times are strings, everything is read-only. */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Json<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Json<T[Key]> }
      : T;

/** The same, but not read-only: for code that builds an object. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? Draft<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Draft<T[Key]> }
    : T;

/** A pod with a name, a namespace and a UID, which every source sets. */
export type Pod = Json<Omit<V1Pod, 'metadata' | 'spec' | 'status'>> & {
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: PodSpec;
  readonly status?: PodStatus;
};
export type ObjectMeta = Json<V1ObjectMeta>;
export type PodSpec = Json<V1PodSpec>;
export type PodStatus = Json<V1PodStatus>;
export type PodCondition = Json<V1PodCondition>;
export type Container = Json<V1Container>;
/** Requests and limits as a spec gives them. */
export type ResourceRequirements = NonNullable<Container['resources']>;
export type EphemeralContainer = Json<V1EphemeralContainer>;
export type ContainerStatus = Json<V1ContainerStatus>;
export type ContainerState = Json<V1ContainerState>;
export type Taint = Json<V1Taint>;
export type Toleration = Json<V1Toleration>;
export type NodeSelectorTerm = Json<V1NodeSelectorTerm>;
export type NodeSelectorRequirement = Json<V1NodeSelectorRequirement>;

export type Node = Json<Omit<V1Node, 'metadata'>> & {
  readonly metadata: ObjectMeta & { readonly name: string };
};
export type NodeStatus = Json<V1NodeStatus>;
export type NodeCondition = Json<V1NodeCondition>;
export type NodeAddress = Json<V1NodeAddress>;
export type NodeSystemInfo = Json<V1NodeSystemInfo>;
export type Lease = Json<V1Lease>;
/** An event of core/v1. */
export type CoreEvent = Json<CoreV1Event>;
export type RuntimeClass = Json<V1RuntimeClass>;
export type ConfigMap = Json<V1ConfigMap>;
/** `data` is base64. */
export type Secret = Json<V1Secret>;
export type Service = Json<V1Service>;
export type ServiceAccount = Json<V1ServiceAccount>;
export type PersistentVolumeClaim = Json<V1PersistentVolumeClaim>;
export type PersistentVolume = Json<Omit<V1PersistentVolume, 'spec'>> & {
  readonly spec?: Partial<Json<NonNullable<V1PersistentVolume['spec']>>>;
};
export type CSIDriver = Json<V1CSIDriver>;
export type CSINode = Json<V1CSINode>;
export type ResourceClaim = Json<Omit<ResourceV1ResourceClaim, 'spec'>>;
export type ResourceSlice = Json<V1ResourceSlice>;
export type VolumeAttachment = Json<V1VolumeAttachment>;
export type ClusterTrustBundle = Json<V1beta1ClusterTrustBundle>;
/** Which trust bundles a volume shows. */
export type TrustBundleSelection = Json<V1ClusterTrustBundleProjection>;
export type LabelSelector = Json<V1LabelSelector>;
export type TokenRequest = Json<AuthenticationV1TokenRequest> & { readonly spec: Json<V1TokenRequestSpec> };
export type CertificateSigningRequest = Json<V1CertificateSigningRequest>;

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
export type QOSClass = 'Guaranteed' | 'Burstable' | 'BestEffort';
