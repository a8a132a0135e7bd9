/** Makes the configuration from the flags and the files of --config and --config-dir. */
import { configurationLayers, resolveLayers } from '../agent/config/kubelet/configuration-layers.ts';
import { idleFlagWarnings } from '../agent/config/kubelet/idle-flags.ts';
import { rootFolder } from '../agent/config/root-folder.ts';
import { featureGateWarnings } from '../agent/policies/node/feature-gates.ts';
import type { RunFlags, StateletConfig } from '../agent/config/config.ts';
import { StateletError } from '../types/errors.ts';

export interface Configured {
  readonly config: StateletConfig;
  readonly warnings: readonly string[];
  /** One sentence for each file of `--config-dir` that was not read, for the log. */
  readonly notes: readonly string[];
}

export async function configure(flags: RunFlags): Promise<Configured> {
  const idle = idleFlagWarnings(flags.idle ?? {});
  const { layers, notes } = await configurationLayers(flags);
  const config = resolveLayers(flags, layers);
  const warnings = layers.flatMap((layer) => layer.warnings);
  const { passedOver } = flags.asKubelet === true ? {} : rootFolder(flags.rootDir);
  return {
    config,
    warnings: [
      ...(passedOver === undefined ? [] : [passedOver]),
      ...idle,
      ...warnings,
      ...featureGateWarnings(config.featureGates),
    ],
    notes,
  };
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

const WHAT_TO_RUN =
  '\n"statelet run --pods FOLDER" runs the pods of the manifests in a folder, and follows their changes' +
  '\n"statelet demo" copies examples into this folder, and runs them';

/** Throws `InvalidArgument` where a daemon would have nothing to do. A kubelet without a source waits, as the kubelet does: what to log. */
export function checkSources(config: StateletConfig, { asKubelet = false }: RunFlags): string | undefined {
  const advice = adviceOnSources(config, ['--kubeconfig']);
  if (advice === undefined || asKubelet) return advice;
  throw new StateletError('InvalidArgument', `${advice}${WHAT_TO_RUN}`);
}
