/** Credential provider plugins. Loaded only where a configuration names some. */
import type { CredentialProvider } from '../../policies/images/credential-provider-config.ts';
import type { RegistryCredentials } from '../../policies/images/image-credentials.ts';
import { unlessAborted } from '../../system/promises.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { CredentialPlugin, type PluginSurroundings } from './credential-plugin.ts';
import type { CredentialProviders } from './pod-credentials.ts';

export class CredentialPlugins implements CredentialProviders {
  readonly #plugins: readonly CredentialPlugin[];

  constructor(providers: readonly CredentialProvider[], surroundings: PluginSurroundings) {
    this.#plugins = providers.map((provider) => new CredentialPlugin(provider, surroundings));
  }

  /** In the order of the configuration. All plugins that know the image are asked at the same time. */
  async credentials(pod: Pod, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]> {
    const answers = Promise.all(this.#plugins.map((plugin) => plugin.credentials(pod, image)));
    return (await unlessAborted(answers, signal)).flat();
  }

  close(): void {
    for (const plugin of this.#plugins) plugin.close();
  }
}
