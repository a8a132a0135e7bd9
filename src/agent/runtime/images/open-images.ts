import { homedir } from 'node:os';
import type { CredentialProviderConfig } from '../../policies/images/credential-provider-config.ts';
import { CRASH_LOOP_BACK_OFF } from '../../policies/pod-actions/back-off.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import type { NodeSettings } from '../../../types/node-settings.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import type { CredentialPlugins } from './credential-plugin.ts';
import { ImageManager } from './image-manager.ts';
import { ImageRecords } from './image-records.ts';
import { createKeyring, PullSecretReader } from './keyring.ts';

export interface ImagesSetup {
  readonly rootDir: string;
  readonly settings: NodeSettings;
  readonly objects?: ApiObjects;
  readonly credentialProviders?: CredentialProviderConfig;
}

export interface Images {
  readonly images: ImageManager;
  readonly records: ImageRecords;
  readonly plugins?: CredentialPlugins;
}

/** How the node gets images. The code for plugins is loaded only where there are some. */
export async function openImages(
  context: AgentContext,
  setup: ImagesSetup,
  runtime: RuntimeService,
): Promise<Images> {
  const { rootDir, settings, objects } = setup;
  const records = new ImageRecords(context, runtime, rootDir, {
    policy: settings.imagePullCredentialsVerificationPolicy,
    allowlist: settings.preloadedImagesVerificationAllowlist,
  });
  const plugins = await openPlugins(context, setup);
  const images = new ImageManager(context, {
    ...settings,
    runtime,
    records,
    keyring: createKeyring(context, { rootDir, homeDir: homedir() }),
    pullSecrets: objects && new PullSecretReader(context, objects),
    plugins,
    backOff: CRASH_LOOP_BACK_OFF,
  });
  return { images, records, plugins };
}

async function openPlugins(
  context: AgentContext,
  { settings, objects, credentialProviders: configured }: ImagesSetup,
): Promise<CredentialPlugins | undefined> {
  if (configured === undefined) return undefined;
  context.measurements?.images.credentialProviders(configured.hash);
  const { CredentialPlugins } = await import('./credential-plugin.ts');
  return new CredentialPlugins(context, configured.providers, {
    binDir: settings.imageCredentialProviderBinDir,
    accounts: objects,
  });
}
