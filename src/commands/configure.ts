/** Makes the configuration from the flags and the file of --config. */
import type { LoadedConfiguration } from '../config/load-configuration.ts';
import { featureGateWarnings } from '../policies/features/feature-gates.ts';
import { resolveConfig, type RunFlags, type StateletConfig } from '../config/config.ts';

export interface Configured {
  readonly config: StateletConfig;
  readonly warnings: readonly string[];
}

export async function configure(flags: RunFlags): Promise<Configured> {
  const { configuration, warnings } = await configurationFile(flags);
  const config = resolveConfig(flags, configuration);
  return { config, warnings: [...warnings, ...featureGateWarnings(config.featureGates)] };
}

async function configurationFile({
  config,
}: RunFlags): Promise<Pick<LoadedConfiguration, 'configuration' | 'warnings'>> {
  if (config === undefined) return { configuration: {}, warnings: [] };
  const { loadConfiguration } = await import('../config/load-configuration.ts');
  return loadConfiguration(config);
}

/** What is wrong with a configuration without a source of pods; undefined where there is one. `others`: more flags that name a source. */
export function adviceOnSources(
  { staticPodPath, staticPodURL, localPods, cluster }: StateletConfig,
  others: readonly string[] = [],
): string | undefined {
  const hasStatic = staticPodPath !== undefined || staticPodURL !== undefined;
  if (hasStatic || localPods.length > 0 || cluster.kubeconfig !== '') return undefined;
  const flags = ['--pods, --pod-manifest-path', ...others].join(', ');
  return `no source of pods was given: ${flags} or --manifest-url, or staticPodPath or staticPodURL in the --config file`;
}
