/** The part of a simulated agent that asks plugins: the production actors, with simulated sockets and plugins. */
import type { AgentCore } from '../../actors/cluster/cluster-parts.ts';
import type { KillApi } from '../../actors/plugins/kill-requests.ts';
import { Plugins } from '../../actors/plugins/plugin-directory.ts';
import { PluginManager } from '../../actors/plugins/plugin-manager.ts';
import type { NodePlugins } from '../../actors/plugins/plugin-parts.ts';
import { PluginPodKills } from '../../actors/plugins/plugin-pod-kills.ts';
import type { Clock } from '../../types/clock.ts';
import type { PluginFolder } from './plugin-folder.ts';
import type { PluginsPlan } from './plugins-plan.ts';
import { SimulatedPlugin, type PluginWitness, type PluginWorld } from './simulated-plugin.ts';

/** What outlives the agents. */
export interface HostPlugins {
  readonly plan: PluginsPlan;
  readonly world: PluginWorld;
  readonly folder: PluginFolder;
  /** A pod has been chosen to be ended. */
  readonly onChosen: (uid: string, plugin: string) => void;
}

export interface AgentPluginsOptions extends Pick<HostPlugins, 'plan' | 'world' | 'folder'> {
  readonly api: KillApi;
  /** Of the agent: nothing is answered when it is dead. */
  readonly clock: Clock;
  /** In [0, 1); apart, so that plugins do not change what else is left to chance. */
  readonly random: () => number;
  readonly witness: PluginWitness;
}

export function agentPlugins(core: AgentCore, options: AgentPluginsOptions): NodePlugins {
  const { plan, world, folder, api, clock, random, witness } = options;
  const { settings } = plan;
  const { registry, desired, statusManager, recorder, logger, parent, inspect } = core;
  const own = { clock, logger, parent, ...(inspect && { inspect }) };
  const plugin = (name: string, life: string) =>
    new SimulatedPlugin({ name, life, world, clock, timeoutMs: settings.timeoutMs, witness });
  const directory = new Plugins({
    ...own,
    registryDir: '',
    builtIn: plan.builtIn.map((name) => plugin(name, `plugins/${name}`)),
    connect: ({ name, endpoint }) => plugin(name, folder.lifeAt(endpoint)),
    openRegistration: (path) => folder.openRegistration(path, clock),
    watchSockets: (listener) => folder.watch(listener, clock),
  });
  const kills = new PluginPodKills({
    ...own,
    registry,
    api,
    killers: settings.killers,
    random,
    recorder,
  });
  return new PluginManager({
    ...own,
    directory,
    kills,
    settings,
    registry,
    statusOf: (uid) => statusManager.get(uid),
    ownUIDOf: (uid) => desired.ownUIDOf(uid),
    nodeName: world.nodeName,
    recorder,
  });
}
