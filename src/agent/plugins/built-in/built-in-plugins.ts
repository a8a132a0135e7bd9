/** The plugins that come with the agent. Each answers the same questions as one on a socket. */
import { isNamedIn } from '../../policies/eviction-plugins/collected-answers.ts';
import { errorMessage } from '../../../types/errors.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../../types/eviction-plugin.ts';
import type { BuiltInSettings } from '../../../types/built-in-thresholds.ts';
import type { EvictionPluginSettings } from '../../../types/node-settings.ts';
import { NumaMemoryPlugin } from './numa-memory-plugin.ts';
import {
  type BuiltInStats,
  UnansweredLog,
  NO_PODS,
  NOT_MET,
  type PluginTools,
  QuestionFigures,
} from './plugin-tools.ts';
import { ReclaimedResourcesPlugin } from './reclaimed-resources-plugin.ts';
import { RssOverusePlugin } from './rss-overuse-plugin.ts';
import { SystemMemoryPlugin } from './system-memory-plugin.ts';
import type { AgentContext } from '../../../types/agent-context.ts';

/** The names of all built-in plugins, also of those that are switched off: no plugin of another process may register under one. */
export const BUILT_IN_NAMES: readonly string[] = [
  'reclaimed-resource-pressure-eviction-plugin',
  'numa-memory-pressure-eviction-plugin',
  'system-memory-pressure-eviction-plugin',
  'rss-overuse-eviction-plugin',
];

export interface BuiltInParts extends Pick<PluginTools, 'allocatable'> {
  readonly settings: Pick<EvictionPluginSettings, 'innerPlugins'>;
  /** As they are now. */
  readonly thresholds: () => BuiltInSettings;
  /** Called for the first question that needs figures, and after a call that failed. */
  readonly stats: () => Promise<BuiltInStats>;
}

/** The built-in plugins that the settings switch on. */
export function builtInPlugins(
  { clock, logger }: AgentContext,
  { settings: { innerPlugins }, thresholds, stats, allocatable }: BuiltInParts,
): readonly EvictionPlugin[] {
  const unanswered = new UnansweredLog(logger);
  const tools: PluginTools = {
    get settings() {
      return thresholds();
    },
    figures: new QuestionFigures(stats),
    allocatable,
    clock,
    unanswered,
  };
  return [ReclaimedResourcesPlugin, NumaMemoryPlugin, SystemMemoryPlugin, RssOverusePlugin]
    .map((Plugin) => new FailsafePlugin(new Plugin(tools), unanswered))
    .filter(({ name }) => isNamedIn(innerPlugins, name));
}

/** Answers that nothing is to be done where figures cannot be read: no pod is ended then. A question whose signal aborted rejects. */
class FailsafePlugin implements EvictionPlugin {
  readonly name: string;
  readonly #plugin: EvictionPlugin;
  readonly #unanswered: UnansweredLog;

  constructor(plugin: EvictionPlugin, unanswered: UnansweredLog) {
    this.name = plugin.name;
    this.#plugin = plugin;
    this.#unanswered = unanswered;
  }

  thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    return this.#plugin.thresholdMet(question).catch(this.#instead(question, NOT_MET));
  }

  getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    return this.#plugin.getTopEvictionPods(question).catch(this.#instead(question, NO_PODS));
  }

  getEvictPods(question: PluginQuestion): Promise<GetEvictPodsAnswer<NamedPod>> {
    return this.#plugin.getEvictPods(question).catch(this.#instead(question, { evictPods: [] }));
  }

  #instead<T>({ signal }: PluginQuestion, answer: T): (error: unknown) => T {
    return (error) => {
      if (signal.aborted) throw error;
      this.#unanswered.tell(this.name, `its figures cannot be read: ${errorMessage(error)}`);
      return answer;
    };
  }
}
