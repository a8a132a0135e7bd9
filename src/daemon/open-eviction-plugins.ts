/** Puts together what a node needs of eviction plugins. Loaded only where they are enabled. */
import type { AgentCore } from '../actors/cluster/cluster-parts.ts';
import { ConditionTaints } from '../actors/plugins/condition-taints.ts';
import { Plugins } from '../actors/plugins/plugin-directory.ts';
import { PluginManager } from '../actors/plugins/plugin-manager.ts';
import type { NodePlugins } from '../actors/plugins/plugin-parts.ts';
import { PluginPodKills } from '../actors/plugins/plugin-pod-kills.ts';
import type { StateletConfig } from '../config/config.ts';
import type { Cluster, PluginCluster } from './join-cluster.ts';
import { BUILT_IN_NAMES, builtInPlugins } from '../plugins/built-in/built-in-plugins.ts';
import { RemoteEvictionPlugin } from '../plugins/remote-eviction-plugin.ts';
import { registrationClient } from '../plugins/protocol/registration-client.ts';
import type { StatsProvider } from '../runtime/stats/stats-provider.ts';
import type { PluginMeasurements } from '../types/measurements.ts';
import type { OwnNodeFacts } from '../types/node-facts.ts';

export interface EvictionPluginsDeps {
  readonly config: Pick<StateletConfig, 'nodeName' | 'evictionPlugins'>;
  /** As they are now. */
  readonly nodeFacts: () => OwnNodeFacts;
  readonly stats: () => Promise<StatsProvider>;
  readonly cluster?: Cluster;
  readonly measurements?: PluginMeasurements;
}

export function openEvictionPlugins(core: AgentCore, deps: EvictionPluginsDeps): NodePlugins {
  const { config, measurements } = deps;
  const { evictionPlugins: settings, nodeName } = config;
  const { registry, desired, statusManager } = core;
  const server = deps.cluster?.openEvictions(settings.taintsKubeconfig);
  const manager = new PluginManager({
    ...actorParts(core),
    directory: directoryOf(core, deps),
    kills: killsOf(core, deps, server),
    settings,
    registry,
    statusOf: (uid) => statusManager.get(uid),
    ownUIDOf: (uid) => desired.ownUIDOf(uid),
    nodeName,
    ...(measurements && { measurements }),
    onFirstPass: () => taints?.start(),
  });
  const taints = server && taintsOf(core, config, server, manager);
  return {
    conditions: () => manager.conditions(),
    start: () => manager.start(),
    podEnded: (uid, how) => manager.podEnded(uid, how),
    sockets: () => manager.sockets(),
    view: () => manager.view(),
    stop: async () => {
      taints?.stop();
      await manager.stop();
      server?.close();
    },
  };
}

function actorParts({ clock, recorder, logger, parent, inspect }: AgentCore) {
  return { clock, recorder, logger, parent, ...(inspect && { inspect }) };
}

function directoryOf(core: AgentCore, { config, nodeFacts, stats }: EvictionPluginsDeps): Plugins {
  const { clock, logger } = core;
  const { evictionPlugins: settings } = config;
  return new Plugins({
    ...actorParts(core),
    registryDir: settings.registryDir,
    reservedNames: BUILT_IN_NAMES,
    builtIn: builtInPlugins({
      settings,
      stats,
      allocatable: () => nodeFacts().allocatable,
      clock,
      logger,
    }),
    connect: (registered) => new RemoteEvictionPlugin(registered),
    openRegistration: registrationClient,
  });
}

function killsOf(
  core: AgentCore,
  { config, measurements }: EvictionPluginsDeps,
  server: PluginCluster | undefined,
): PluginPodKills {
  return new PluginPodKills({
    ...actorParts(core),
    random: core.random,
    registry: core.registry,
    ...(server && { api: server.pods }),
    killers: config.evictionPlugins.killers,
    ...(measurements && { onKilled: (plugin: string) => measurements.pluginVictim(plugin, false) }),
  });
}

function taintsOf(
  core: AgentCore,
  { nodeName, evictionPlugins: settings }: EvictionPluginsDeps['config'],
  { taints: api, node }: PluginCluster,
  conditions: PluginManager,
): ConditionTaints {
  const { conditionTransitionPeriodMs } = settings;
  return new ConditionTaints(core, { api, nodeName, node, conditions, conditionTransitionPeriodMs });
}
