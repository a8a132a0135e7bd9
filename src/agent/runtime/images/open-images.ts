import { homedir } from 'node:os';
import type { CredentialProviderConfig } from '../../policies/images/credential-provider-config.ts';
import { CRASH_LOOP_BACK_OFF } from '../../policies/pod-actions/back-off.ts';
import { systemClock } from '../../../system/timer.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import type { EventRecorder } from '../../../types/event-recorder.ts';
import type { ImageMeasurements } from '../../../types/measurements.ts';
import type { Logger } from '../../../types/logger.ts';
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
  readonly measurements: ImageMeasurements | undefined;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
}

export interface Images {
  readonly images: ImageManager;
  readonly records: ImageRecords;
  readonly plugins?: CredentialPlugins;
}

/** How the node gets images. Nothing of plugins is loaded where there are none. */
export async function openImages(setup: ImagesSetup, runtime: RuntimeService): Promise<Images> {
  const { rootDir, settings, objects, measurements, recorder, logger } = setup;
  const { serializeImagePulls, maxParallelImagePulls, registryPullQPS, registryBurst } = settings;
  const records = new ImageRecords({
    rootDir,
    measurements,
    runtime,
    logger,
    clock: systemClock,
    verification: {
      policy: settings.imagePullCredentialsVerificationPolicy,
      allowlist: settings.preloadedImagesVerificationAllowlist,
    },
  });
  const secrets = objects && new PullSecretReader(objects, recorder);
  const plugins = await openPlugins(setup);
  const images = new ImageManager({
    runtime,
    recorder,
    measurements,
    records,
    serializeImagePulls,
    maxParallelImagePulls,
    registryPullQPS,
    registryBurst,
    clock: systemClock,
    keyring: createKeyring({ rootDir, homeDir: homedir(), logger }),
    pullSecrets: secrets && ((pod, signal) => secrets.read(pod, signal)),
    plugins,
    backOff: CRASH_LOOP_BACK_OFF,
  });
  return { images, records, plugins };
}

async function openPlugins(setup: ImagesSetup): Promise<CredentialPlugins | undefined> {
  const { settings, objects, credentialProviders: configured, logger, measurements } = setup;
  if (configured === undefined) return undefined;
  measurements?.credentialProviders(configured.hash);
  const { CredentialPlugins } = await import('./credential-plugin.ts');
  return new CredentialPlugins(configured.providers, {
    binDir: settings.imageCredentialProviderBinDir,
    clock: systemClock,
    logger,
    measurements,
    accounts: objects,
  });
}
