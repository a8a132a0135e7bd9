/** Puts together what a node needs of eviction plugins. Loaded only where they are enabled. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { ClusterSettings } from '../../agent/actors/plugins/cluster-settings.ts';
import { EvictionHistory } from '../../agent/actors/plugins/eviction-history.ts';
import { HostPathNotices } from '../../agent/actors/plugins/host-path-notices.ts';
import { Plugins } from '../../agent/actors/plugins/plugin-directory.ts';
import { PluginManager } from '../../agent/actors/plugins/plugin-manager.ts';
import type { NodePlugins } from '../../agent/actors/plugins/plugin-parts.ts';
import { PluginPodKills } from '../../agent/actors/plugins/plugin-pod-kills.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import type { PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import { NodeTaints } from './node-taints.ts';
import { FollowedPluginSettings } from './followed-plugin-settings.ts';
import type { Cluster, PluginCluster } from './join-cluster.ts';
import { BUILT_IN_NAMES, builtInPlugins } from '../../agent/plugins/built-in/built-in-plugins.ts';
import { RemoteEvictionPlugin } from '../../agent/plugins/remote-eviction-plugin.ts';
import { registrationClient } from '../../agent/plugins/protocol/registration-client.ts';
import type { StatsProvider } from '../../agent/runtime/stats/stats-provider.ts';
import type { OwnNodeFacts } from '../../types/node-facts.ts';
import type { DisruptionBudget } from '../../agent/policies/eviction-plugins/eviction-records.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { EvictionPluginSettings, PodKillerName } from '../../types/node-settings.ts';

const BUDGETS_TIMEOUT_MS = 10_000;

export interface EvictionPluginsDeps {
  readonly config: Pick<StateletConfig, 'nodeName' | 'evictionPlugins' | 'given'>;
  /** As they are now. */
  readonly nodeFacts: () => OwnNodeFacts;
  readonly stats: () => Promise<StatsProvider>;
  readonly cluster?: Cluster;
  /** Of plugins of other types. */
  readonly handlers?: PluginHandlers;
}

export function openEvictionPlugins(core: AgentCore, deps: EvictionPluginsDeps): NodePlugins {
  const { evictionPlugins: settings, nodeName } = deps.config;
  const { registry, desired, statusManager } = core;
  const { noticesDir } = settings;
  const wantsUsers = asksForTokens(settings);
  const server = deps.cluster?.openEvictions(settings.taintsKubeconfig);
  const history = new EvictionHistory(core, server && ((namespace) => budgetsOf(server, namespace)));
  const cluster = server && new ClusterSettings(core, { api: server.taints, nodeName, wantsUsers });
  const followed = new FollowedPluginSettings(core, deps.config, cluster);
  return new PluginManager(core, {
    directory: directoryOf(core, deps, followed, cluster),
    kills: killsOf(core, settings, server, history),
    followed,
    recordsOf: (pods) => history.of(pods),
    settings,
    registry,
    statusOf: (uid) => statusManager.get(uid),
    ownUIDOf: (uid) => desired.ownUIDOf(uid),
    nodeName,
    notices: noticesDir === '' ? undefined : new HostPathNotices(core, noticesDir),
    taintsOf: server && ((conditions) => new NodeTaints(core, deps.config, server, conditions)),
    onStopped: () => server?.close(),
  });
}

function directoryOf(
  core: AgentCore,
  { config, nodeFacts, stats, handlers }: EvictionPluginsDeps,
  followed: FollowedPluginSettings,
  cluster: ClusterSettings | undefined,
): Plugins {
  const { evictionPlugins: settings } = config;
  return new Plugins(core, {
    registryDir: settings.registryDir,
    reservedNames: BUILT_IN_NAMES,
    builtIn: builtInPlugins(core, {
      settings,
      thresholds: () => followed.builtIn,
      stats,
      allocatable: () => nodeFacts().allocatable,
    }),
    authentication: asksForTokens(settings) ? authenticationOf(core, settings, cluster) : undefined,
    isGuarded: settings.strictAuthentication,
    handlers,
    connect: (...args) => new RemoteEvictionPlugin(...args),
    openRegistration: registrationClient,
  });
}

function asksForTokens({ usersFile, strictAuthentication }: EvictionPluginSettings): boolean {
  return usersFile !== '' || strictAuthentication;
}

/** Its reader of YAML is loaded only where tokens are asked for. */
function authenticationOf(
  { measurements }: AgentCore,
  { usersFile, strictAuthentication: isStrict }: EvictionPluginSettings,
  cluster: ClusterSettings | undefined,
) {
  const clusterUsers = () => cluster?.users;
  const opened = import('../../agent/plugins/registration/plugin-authentication.ts').then(
    ({ PluginAuthentication }) =>
      new PluginAuthentication({ usersFile, clusterUsers, isStrict, measurements: measurements?.plugins }),
  );
  return {
    problemOf: async (plugin: string, askToken: () => Promise<string>) =>
      (await opened).problemOf(plugin, askToken),
  };
}

function killsOf(
  core: AgentCore,
  { killers }: EvictionPluginSettings,
  server: PluginCluster | undefined,
  history: EvictionHistory,
): PluginPodKills {
  const onKilled = (plugin: string, _killer: PodKillerName, pod: Pod) => {
    history.evicted(pod);
    core.measurements?.plugins.victim(plugin, false);
  };
  return new PluginPodKills(core, { registry: core.registry, api: server?.pods, killers, onKilled });
}

/** Nodes may not read them: the user that writes taints may be given the right. */
async function budgetsOf({ taints }: PluginCluster, namespace: string): Promise<readonly DisruptionBudget[]> {
  const budgets = { resource: 'poddisruptionbudgets', namespace } as const;
  const request = { resourceVersion: '0', timeoutMs: BUDGETS_TIMEOUT_MS, isOnlyForNow: true };
  return (await taints.list<DisruptionBudget>(budgets, request)).items;
}
