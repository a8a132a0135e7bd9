import {
  matchingCredentials,
  type PullCredentials,
  type RegistryCredentials,
} from '../../policies/images/image-credentials.ts';
import { parseImageReference } from '../../policies/images/image-reference.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Keyring } from './keyring.ts';

/** Credentials that depend on the pod. Rejects only with the reason of the signal. */
export interface CredentialProviders {
  credentials(pod: Pod, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]>;
}

export interface PodCredentialsOptions {
  readonly keyring: Keyring;
  /** Those of the pod's imagePullSecrets, tried before those of the node. Rejects only with the reason of the signal. */
  readonly pullSecrets?: (pod: Pod, signal: AbortSignal) => Promise<readonly RegistryCredentials[]>;
  /** Plugins, tried after the credentials of the node. */
  readonly plugins?: CredentialProviders;
}

/** All credentials that a pod has for an image, in the order in which they are tried. */
export class PodCredentials {
  readonly #options: PodCredentialsOptions;

  constructor(options: PodCredentialsOptions) {
    this.#options = options;
  }

  /** `name`: the image with its default tag. Rejects with the reason of the signal. */
  async lookup(pod: Pod, name: string, signal: AbortSignal): Promise<readonly PullCredentials[]> {
    const { keyring, pullSecrets, plugins } = this.#options;
    const image = parseImageReference(name);
    const secrets = (await pullSecrets?.(pod, signal)) ?? [];
    const ofNode = await keyring.lookup(image);
    const ofPlugins = await plugins?.credentials(pod, `${image.domain}/${image.path}`, signal);
    return [
      ...matchingCredentials(secrets, image),
      ...ofNode.map((auth) => ({ auth })),
      ...matchingCredentials(ofPlugins ?? [], image),
    ];
  }
}
