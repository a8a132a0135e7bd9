/** Makes the configuration from the flags and the file of --config. */
import { resolveConfig, type RunFlags, type StateletConfig } from '../config/config.ts';

export interface Configured {
  readonly config: StateletConfig;
  readonly warnings: readonly string[];
}

export async function configure(flags: RunFlags): Promise<Configured> {
  if (flags.config === undefined) return { config: resolveConfig(flags), warnings: [] };
  const { loadConfiguration } = await import('../config/load-configuration.ts');
  const { configuration, warnings } = await loadConfiguration(flags.config);
  return { config: resolveConfig(flags, configuration), warnings };
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
