/** From the flags, and the file that they name, to a configuration. */
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

/** What to say where a configuration brings no pods; undefined where it does. */
export function adviceOnSources({ staticPodPath, staticPodURL }: StateletConfig): string | undefined {
  if (staticPodPath !== undefined || staticPodURL !== undefined) return undefined;
  return 'no source of pods was given: --pod-manifest-path or --manifest-url, or the same in the --config file';
}
