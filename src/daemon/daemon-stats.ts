import type { NodeAgent } from '../actors/node-agent.ts';
import { EMBEDDED, type StateletConfig } from '../config/config.ts';
import { runtimeLayout } from '../runtime/process/layout.ts';
import type { NodeParts } from '../runtime/node/pod-node.ts';
import type { RuntimeService } from '../runtime/service/runtime-service.ts';
import type { StatsProvider } from '../runtime/stats/stats-provider.ts';
import { systemClock } from '../system/timer.ts';
import type { Logger } from '../types/logger.ts';
import type { VolumeMeasurements } from '../types/measurements.ts';
import type { RuntimePodStatus } from '../types/runtime-pod.ts';

export interface DaemonStatsOptions {
  readonly config: StateletConfig;
  readonly runtime: RuntimeService;
  /** Undefined where pods have no cgroups. */
  readonly cgroupDriver: NodeParts['cgroupDriver'];
  readonly agent: () => NodeAgent;
  readonly logger: Logger;
  readonly measurements?: VolumeMeasurements;
}

/** What the node and its pods use. Loaded when eviction starts, or for the first request. */
export class DaemonStats {
  readonly #options: DaemonStatsOptions;
  #provider: Promise<StatsProvider> | undefined;

  constructor(options: DaemonStatsOptions) {
    this.#options = options;
  }

  provider(): Promise<StatsProvider> {
    return (this.#provider ??= this.#open());
  }

  async close(): Promise<void> {
    await (await this.#provider)?.close();
  }

  async #open(): Promise<StatsProvider> {
    const { config, runtime, cgroupDriver, agent, logger, measurements } = this.#options;
    const { rootDir, podLogsDir, nodeName, node, containerRuntimeEndpoint } = config;
    const { pleg, supervisor } = agent();
    const { podScratch } = runtimeLayout(rootDir);
    const isEmbedded = containerRuntimeEndpoint === EMBEDDED;
    const cgroupRoot = isEmbedded || !node.cgroupsPerQOS ? undefined : node.cgroupRoot;
    const { openStatsProvider } = await import('../runtime/stats/kernel-stats.ts');
    return openStatsProvider({
      rootDir,
      podLogsDir,
      nodeName,
      cgroupRoot,
      ...(cgroupDriver && { cgroupDriver }),
      systemGroups: { runtime: node.runtimeCgroups, misc: node.systemCgroups },
      clock: systemClock,
      runtime,
      pods: () => pleg.pods(),
      podOf: (uid) => supervisor.registry.get(uid)?.actor.getSnapshot().context.pod,
      logger,
      ...(measurements && { measurements }),
      ...(isEmbedded && {
        scratchOf: ({ sandboxes }: RuntimePodStatus) => sandboxes.map(({ id }) => podScratch(id)),
      }),
    });
  }
}
