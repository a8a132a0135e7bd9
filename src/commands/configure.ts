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

/** A warning for a configuration without a source of pods; undefined where there is one. */
export function adviceOnSources({
  staticPodPath,
  staticPodURL,
  cluster,
}: StateletConfig): string | undefined {
  if (staticPodPath !== undefined || staticPodURL !== undefined || cluster.kubeconfig !== '')
    return undefined;
  return 'no source of pods was given: --pod-manifest-path, --manifest-url or --kubeconfig, or the first two in the --config file';
}
