/** How the agent learns that a ConfigMap or a Secret has changed that a pod refers to. */
export const CHANGE_DETECTION_STRATEGIES = ['Watch', 'Cache', 'Get'] as const;
export type ChangeDetectionStrategy = (typeof CHANGE_DETECTION_STRATEGIES)[number];

/** Settings of a node that belongs to a cluster, by the kubelet's names. */
export interface ClusterSettings {
  /** Empty: the node belongs to no cluster. */
  readonly kubeconfig: string;
  /** Empty: there must be a kubeconfig. */
  readonly bootstrapKubeconfig: string;
  /** Empty: the folder `pki` in the root folder. */
  readonly certDir: string;
  readonly rotateCertificates: boolean;
  readonly serverTLSBootstrap: boolean;
  readonly registerNode: boolean;
  readonly registerSchedulable: boolean;
  readonly providerID: string;
  /** `external`, or empty. */
  readonly cloudProvider: string;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeStatusReportFrequencyMs: number;
  readonly nodeLeaseDurationSeconds: number;
  /** -1: no limit. */
  readonly nodeStatusMaxImages: number;
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  /** 0: no limit. */
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly configMapAndSecretChangeDetectionStrategy: ChangeDetectionStrategy;
}
