import { rssAllowances, rssOveruse } from '../../policies/eviction-plugins/built-in/rss-overuse.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { named, NO_PODS, NOT_MET, type PluginTools } from './plugin-tools.ts';

/** Whether a pod holds far more resident memory than it requests. */
export class RssOverusePlugin implements EvictionPlugin {
  readonly name = 'rss-overuse-eviction-plugin';
  readonly #tools: PluginTools;

  constructor(tools: PluginTools) {
    this.#tools = tools;
  }

  thresholdMet(): Promise<ThresholdMetAnswer<NamedPod>> {
    return Promise.resolve(NOT_MET);
  }

  getTopEvictionPods(): Promise<TopEvictionPodsAnswer<NamedPod>> {
    return Promise.resolve(NO_PODS);
  }

  async getEvictPods(question: PluginQuestion): Promise<GetEvictPodsAnswer<NamedPod>> {
    const { figures, settings, unanswered } = this.#tools;
    const allowances = rssAllowances(question.activePods.pods, settings.rssOveruse);
    if (allowances.length === 0) return { evictPods: [] };
    const stats = await figures.pods(question);
    const rssBytes = ({ metadata }: Pod) => stats.get(metadata.uid)?.memory?.rssBytes;
    if (allowances.every(({ pod }) => rssBytes(pod) === undefined)) {
      unanswered.tell(this.name, 'it is not known how much resident memory pods have');
    } else {
      unanswered.answered(this.name);
    }
    return { evictPods: rssOveruse(allowances, rssBytes).map((one) => ({ ...one, pod: named(one.pod) })) };
  }
}
