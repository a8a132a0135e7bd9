/** The eviction plugins of a simulated node, and the part of an agent that asks them: the production actors, with simulated sockets. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { ConditionTaints } from '../../agent/actors/plugins/condition-taints.ts';
import type { KillApi } from '../../agent/actors/plugins/kill-requests.ts';
import { Plugins } from '../../agent/actors/plugins/plugin-directory.ts';
import { PluginManager } from '../../agent/actors/plugins/plugin-manager.ts';
import type { NodePlugins } from '../../agent/actors/plugins/plugin-parts.ts';
import { taintedNode } from '../../agent/actors/plugins/tainted-objects.ts';
import { PluginPodKills } from '../../agent/actors/plugins/plugin-pod-kills.ts';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import type { Clock } from '../../types/clock.ts';
import type { PluginCondition } from '../../types/eviction-plugin.ts';
import type { Node } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import { TaintJudge } from '../judges/plugins/taint-judge.ts';
import type { HostContext } from '../node/host-context.ts';
import { PluginFolder } from './plugin-folder.ts';
import type { PluginsPlan } from './plugins-plan.ts';
import { TaintedBySomebody } from './pod-marks.ts';
import { SimulatedPlugin, type PluginWitness, type PluginWorld } from './simulated-plugin.ts';

/** What outlives the agents. */
export interface HostPlugins {
  readonly plan: PluginsPlan;
  readonly world: PluginWorld;
  readonly folder: PluginFolder;
  readonly hadNoExecute: () => boolean;
  readonly onCondition: (condition: PluginCondition) => void;
  /** A pod has been chosen to be ended. */
  readonly onChosen: (uid: string, plugin: string) => void;
}

interface HostPluginsParts extends Pick<HostPlugins, 'plan' | 'world' | 'onChosen'> {
  readonly api: SimulatedApiServer;
}

/** The taints of the node are judged, whoever sets them. */
export function openHostPlugins(
  { clock, tell, violated }: HostContext,
  { plan, world, api, onChosen }: HostPluginsParts,
): HostPlugins {
  const folder = new PluginFolder({ plan, world, clock, tell });
  const taints = new TaintJudge((what) => violated({ invariant: 'plugins', what }));
  const somebody = new TaintedBySomebody(api, world, clock);
  api.store.changes.subscribe(({ resource, before, after }) => {
    if (resource === 'nodes' && before !== undefined && after !== undefined)
      taints.changed(before, after, !somebody.isAtWork);
  });
  const onCondition = (condition: PluginCondition) => taints.observed(condition);
  return { plan, world, folder, onChosen, onCondition, hadNoExecute: () => taints.hadNoExecute };
}

export interface AgentPluginsOptions extends Pick<HostPlugins, 'plan' | 'world' | 'folder'> {
  readonly api: KillApi;
  /** With rights to change the taints of the node. */
  readonly taintsApi: Pick<ApiServer, 'get' | 'patch'>;
  /** As the API server sent it last. */
  readonly node: () => Node | undefined;
  /** The agent's clock: nothing is answered once the agent is dead. */
  readonly clock: Clock;
  /** In [0, 1); a random source of its own, so that plugins change nothing else that is drawn. */
  readonly random: () => number;
  readonly witness: PluginWitness;
}

export function agentPlugins(core: AgentCore, options: AgentPluginsOptions): NodePlugins {
  const { plan, world, folder, api, taintsApi, node, clock, random, witness } = options;
  const { nodeName } = world;
  const { settings } = plan;
  const { registry, desired, statusManager } = core;
  const context = { ...core, clock, random };
  const plugin = (name: string, life: string) =>
    new SimulatedPlugin({ name, life, world, clock, timeoutMs: settings.timeoutMs, witness });
  const directory = new Plugins(context, {
    registryDir: '',
    builtIn: plan.builtIn.map((name) => plugin(name, `plugins/${name}`)),
    connect: ({ name, endpoint }) => plugin(name, folder.lifeAt(endpoint)),
    openRegistration: (path) => folder.openRegistration(path, clock),
    watchSockets: (listener) => folder.watch(listener, clock),
  });
  const kills = new PluginPodKills(context, { registry, api, killers: settings.killers });
  const { conditionTransitionPeriodMs } = settings;
  return new PluginManager(context, {
    directory,
    kills,
    settings,
    registry,
    statusOf: (uid) => statusManager.get(uid),
    ownUIDOf: (uid) => desired.ownUIDOf(uid),
    nodeName,
    taintsOf: (conditions) =>
      new ConditionTaints(context, {
        object: taintedNode({ api: taintsApi, nodeName, node }),
        conditions,
        conditionTransitionPeriodMs,
      }),
  });
}
