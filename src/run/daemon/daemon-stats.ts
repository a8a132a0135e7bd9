import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import { EMBEDDED, type StateletConfig } from '../../agent/config/config.ts';
import { runtimeLayout } from '../../embedded/layout.ts';
import type { NodeParts } from '../../agent/runtime/node/pod-node.ts';
import type { StatsProvider } from '../../agent/runtime/stats/stats-provider.ts';
import type { AgentContext } from '../../types/agent-context.ts';

export interface DaemonStatsParts {
  readonly config: StateletConfig;
  readonly parts: Pick<NodeParts, 'runtime' | 'cgroupDriver' | 'cgroupRoot' | 'csi'>;
  readonly agent: () => NodeAgent;
}

/** What the node and its pods use. Loaded when eviction starts, or for the first request. */
export class DaemonStats {
  readonly #context: AgentContext;
  readonly #parts: DaemonStatsParts;
  #provider: Promise<StatsProvider> | undefined;

  constructor(context: AgentContext, parts: DaemonStatsParts) {
    this.#context = context;
    this.#parts = parts;
  }

  provider(): Promise<StatsProvider> {
    return (this.#provider ??= this.#open());
  }

  async close(): Promise<void> {
    await (await this.#provider)?.close();
  }

  async #open(): Promise<StatsProvider> {
    const { config, parts, agent } = this.#parts;
    const { runtime, cgroupDriver, csi } = parts;
    const { rootDir, podLogsDir, nodeName, node, containerRuntimeEndpoint } = config;
    const { pleg, supervisor } = agent();
    const { podScratch } = runtimeLayout(rootDir);
    const isEmbedded = containerRuntimeEndpoint === EMBEDDED;
    const cgroupRoot = isEmbedded ? parts.cgroupRoot : node.cgroupsPerQOS ? node.cgroupRoot : undefined;
    const { openStatsProvider } = await import('../../agent/runtime/stats/kernel-stats.ts');
    return openStatsProvider(this.#context, {
      rootDir,
      podLogsDir,
      nodeName,
      cgroupRoot,
      cgroupDriver,
      sharesNetwork: isEmbedded,
      systemGroups: { runtime: node.runtimeCgroups, misc: node.systemCgroups },
      runtime,
      pods: () => pleg.pods(),
      podOf: (uid) => supervisor.registry.podOf(uid),
      csiFigures: csi && ((volume, path) => csi.stats.of(volume, path)),
      scratchOf: isEmbedded ? ({ sandboxes }) => sandboxes.map(({ id }) => podScratch(id)) : undefined,
    });
  }
}
