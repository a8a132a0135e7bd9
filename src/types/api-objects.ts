import type { ConfigMap, Pod, Secret } from './kubernetes.ts';

/** What a pod wants of a token of its service account: a `serviceAccountToken` of a projected volume. */
export interface TokenWish {
  /** Default: that of the API server. */
  readonly audience?: string;
  readonly expirationSeconds?: number;
}

/**
 * The objects of the API server that pods refer to. They are secrets: nothing of their contents may get into logs, events or
 * errors.
 */
export interface ApiObjects {
  /** Undefined where there is none. Rejects where the server does not say. */
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  /** Undefined where there is none. Rejects where the server does not say. */
  secret(namespace: string, name: string): Promise<Secret | undefined>;
  /** A token of the pod's service account, that is valid only while there is this pod. */
  token(pod: Pod, wish: TokenWish): Promise<string>;
  /** The volumes of the pod are gone: its tokens are forgotten. */
  forgetPod(uid: string): void;
}
