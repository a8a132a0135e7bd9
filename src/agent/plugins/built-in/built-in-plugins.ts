/** The plugins that come with the agent. Each answers the same questions as one on a socket. */
import { isNamedIn } from '../../policies/eviction-plugins/collected-answers.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { BuiltInSettings } from '../../../types/built-in-thresholds.ts';
import type { EvictionPlugin } from '../../../types/eviction-plugin.ts';
import type { EvictionPluginSettings } from '../../../types/node-settings.ts';
import { type BuiltInStats, FiguresOfPasses } from './pass-figures.ts';
import { type BuiltIn, BuiltInPlugin, type PluginTools, UnansweredLog } from './plugin-tools.ts';

interface Entry {
  readonly name: string;
  readonly open: (tools: PluginTools) => EvictionPlugin;
}

function entry<Kept>(
  name: string,
  isEnabled: (settings: BuiltInSettings) => boolean,
  load: () => Promise<BuiltIn<Kept>>,
): Entry {
  return { name, open: (tools) => new BuiltInPlugin({ name, isEnabled, load }, tools) };
}

const always = () => true;

/** By Katalyst's names. What a plugin needs is loaded when it is asked first while it is enabled. */
const BUILT_INS: readonly Entry[] = [
  entry('reclaimed-resource-pressure-eviction-plugin', always, async () => {
    return (await import('./reclaimed-resources-plugin.ts')).reclaimedResources;
  }),
  entry('reclaimed-numa-resource-pressure-eviction-plugin', always, async () => {
    return (await import('./numa-reclaimed-plugin.ts')).numaReclaimed;
  }),
  entry(
    'numa-memory-pressure-eviction-plugin',
    ({ numaMemory }) => numaMemory.isEnabled,
    async () => (await import('./numa-memory-plugin.ts')).numaMemory,
  ),
  entry(
    'system-memory-pressure-eviction-plugin',
    ({ systemMemory }) => systemMemory.isEnabled,
    async () => (await import('./system-memory-plugin.ts')).systemMemory,
  ),
  entry('rss-overuse-eviction-plugin', always, async () => {
    return (await import('./rss-overuse-plugin.ts')).rssOveruse;
  }),
  entry(
    'rootfs-pressure-eviction-plugin',
    ({ rootfsPressure }) => rootfsPressure.isEnabled,
    async () => (await import('./rootfs-plugins.ts')).rootfsPressure,
  ),
  entry(
    'rootfs-overuse-eviction-plugin',
    ({ rootfsOveruse }) => rootfsOveruse.isEnabled,
    async () => (await import('./rootfs-plugins.ts')).rootfsOveruse,
  ),
  entry(
    'network-eviction-plugin',
    ({ nicHealth }) => nicHealth.isEnabled,
    async () => (await import('./nic-health-plugin.ts')).nicHealth,
  ),
  entry(
    'cpu-pressure-load-plugin',
    ({ cpuLoad }) => cpuLoad.isEnabled,
    async () => (await import('./cpu-plugins.ts')).cpuLoad,
  ),
  entry(
    'cpu-pressure-suppression-plugin',
    ({ cpuSuppression }) => cpuSuppression.isEnabled,
    async () => (await import('./cpu-plugins.ts')).cpuSuppression,
  ),
  entry(
    'numa-cpu-pressure-plugin',
    ({ numaCpu }) => numaCpu.isEnabled,
    async () => (await import('./cpu-plugins.ts')).numaCpu,
  ),
  entry(
    'numa-sys-cpu-pressure-plugin',
    ({ numaSysCpu }) => numaSysCpu.isEnabled,
    async () => (await import('./cpu-plugins.ts')).numaSysCpu,
  ),
];

/** The names of all built-in plugins, also of those that are switched off: no plugin of another process may register under one. */
export const BUILT_IN_NAMES: readonly string[] = BUILT_INS.map(({ name }) => name);

export interface BuiltInParts {
  readonly settings: Pick<EvictionPluginSettings, 'innerPlugins'>;
  /** As they are now. */
  readonly thresholds: () => BuiltInSettings;
  /** Called for the first question that needs figures, and after a call that failed. */
  readonly stats: () => Promise<BuiltInStats>;
  /** Of the node, by the name of the resource. */
  readonly allocatable: () => Readonly<Record<string, string>>;
}

/** The built-in plugins that the settings name. Of them, those that are not enabled answer that nothing is to be done. */
export function builtInPlugins(
  { clock, logger }: AgentContext,
  { settings: { innerPlugins }, thresholds, stats, allocatable }: BuiltInParts,
): readonly EvictionPlugin[] {
  const tools: PluginTools = {
    settings: thresholds,
    figures: new FiguresOfPasses(stats, allocatable),
    clock,
    unanswered: new UnansweredLog(logger),
  };
  return BUILT_INS.filter(({ name }) => isNamedIn(innerPlugins, name)).map(({ open }) => open(tools));
}
