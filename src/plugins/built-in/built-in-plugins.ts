/** The plugins that come with the agent. Each answers the same questions as one on a socket. */
import {
  type BuiltInSettings,
  DEFAULT_BUILT_IN_SETTINGS,
} from '../../policies/eviction-plugins/built-in/built-in-settings.ts';
import { isNamedIn } from '../../policies/eviction-plugins/collected-answers.ts';
import type { EvictionPlugin } from '../../types/eviction-plugin.ts';
import type { EvictionPluginSettings } from '../../types/node-settings.ts';
import type { Logger } from '../../types/logger.ts';
import { Excuses } from './excuses.ts';
import { NumaMemoryPlugin } from './numa-memory-plugin.ts';
import type { PluginTools } from './plugin-tools.ts';
import { type BuiltInStats, QuestionFigures } from './question-figures.ts';
import { QuietPlugin } from './quiet-plugin.ts';
import { ReclaimedResourcesPlugin } from './reclaimed-resources-plugin.ts';
import { RssOverusePlugin } from './rss-overuse-plugin.ts';
import { SystemMemoryPlugin } from './system-memory-plugin.ts';

/** Of all of them, also those that are not asked: a plugin of another process cannot pass for one. */
export const BUILT_IN_NAMES: readonly string[] = [
  'reclaimed-resource-pressure-eviction-plugin',
  'numa-memory-pressure-eviction-plugin',
  'system-memory-pressure-eviction-plugin',
  'rss-overuse-eviction-plugin',
];

export interface BuiltInParts extends Pick<PluginTools, 'allocatable' | 'clock'> {
  readonly settings: Pick<EvictionPluginSettings, 'innerPlugins'>;
  /** Default: `DEFAULT_BUILT_IN_SETTINGS`. */
  readonly thresholds?: BuiltInSettings;
  /** Called for the first question that needs figures, and after a call that failed. */
  readonly stats: () => Promise<BuiltInStats>;
  readonly logger: Logger;
}

/** Those that the settings name. */
export function builtInPlugins({
  settings: { innerPlugins },
  thresholds = DEFAULT_BUILT_IN_SETTINGS,
  stats,
  allocatable,
  clock,
  logger,
}: BuiltInParts): readonly EvictionPlugin[] {
  const excuses = new Excuses(logger);
  const tools: PluginTools = {
    settings: thresholds,
    figures: new QuestionFigures(stats),
    allocatable,
    clock,
    excuses,
  };
  return [ReclaimedResourcesPlugin, NumaMemoryPlugin, SystemMemoryPlugin, RssOverusePlugin]
    .map((Plugin) => new QuietPlugin(new Plugin(tools), excuses))
    .filter(({ name }) => isNamedIn(innerPlugins, name));
}
