import type { ApiObjects, TokenWish } from '../../types/api-objects.ts';
import type { ConfigMap, Pod, Secret } from '../../types/kubernetes.ts';
import { PodTokens, type PodTokensOptions } from './pod-tokens.ts';
import { RecentObjects } from './recent-objects.ts';

/**
 * The objects that pods refer to, read when a pod that refers to them is synced: the strategy `Get` of the kubelet. Nothing is
 * watched.
 */
export class ServerObjects implements ApiObjects {
  readonly #recent: RecentObjects;
  readonly #tokens: PodTokens;

  constructor(options: PodTokensOptions) {
    this.#recent = new RecentObjects(options.api, options.clock);
    this.#tokens = new PodTokens(options);
  }

  configMap(namespace: string, name: string): Promise<ConfigMap | undefined> {
    return this.#recent.get({ resource: 'configmaps', namespace, name });
  }

  secret(namespace: string, name: string): Promise<Secret | undefined> {
    return this.#recent.get({ resource: 'secrets', namespace, name });
  }

  token(pod: Pod, wish: TokenWish): Promise<string> {
    return this.#tokens.get(pod, wish);
  }

  forgetPod(uid: string): void {
    this.#tokens.forgetPod(uid);
  }

  close(): void {
    this.#recent.close();
  }
}
