/** The files of a configuration, and what they are together. Their readers are loaded only where there are files. */
import { resolveConfig, type RunFlags, type StateletConfig } from '../config.ts';
import { thisHost } from '../root-folder.ts';
import type { LoadedConfiguration } from '../load-configuration.ts';

interface Layers {
  readonly layers: readonly LoadedConfiguration[];
  /** One sentence for each file that was not read, for the log. */
  readonly notes: readonly string[];
}

/** The configuration as it is after each file: that of `--config`, then those of `--config-dir`. */
export async function configurationLayers({ config, configDir }: RunFlags): Promise<Layers> {
  const layers: LoadedConfiguration[] = [];
  if (config !== undefined && config !== '') {
    const { loadConfiguration } = await import('../load-configuration.ts');
    layers.push(await loadConfiguration(config));
  }
  if (configDir === undefined || configDir === '') return { layers, notes: [] };
  const { loadDropIns } = await import('./drop-ins.ts');
  const dropIns = await loadDropIns(configDir, layers[0]);
  const notes = dropIns.skipped.map((file) => `${file}: is not read, as its name does not end in .conf`);
  return { layers: [...layers, ...dropIns.layers], notes };
}

/** Throws `InvalidArgument` for a configuration that is not valid. The error names the file that made it so, not just the last one. */
export function resolveLayers(flags: RunFlags, layers: readonly LoadedConfiguration[]): StateletConfig {
  const last = layers.at(-1);
  const resolve = (layer: LoadedConfiguration | undefined) =>
    resolveConfig(flags, layer?.configuration, thisHost(), layer?.file);
  try {
    return resolve(last);
  } catch (error) {
    if (layers.length > 1 && !isResolved(() => resolve(layers.at(-2))))
      resolveLayers(flags, layers.slice(0, -1));
    throw error;
  }
}

function isResolved(resolve: () => unknown): boolean {
  try {
    resolve();
    return true;
  } catch {
    return false;
  }
}
