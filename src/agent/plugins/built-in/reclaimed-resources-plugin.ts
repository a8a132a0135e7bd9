import { isReclaimed } from '../../policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  type Amounts,
  reclaimableResources,
  reclaimedThreshold,
  reclaimedToNotify,
  reclaimedVictims,
} from '../../policies/eviction-plugins/built-in/reclaimed-resources.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../../types/eviction-plugin.ts';
import { NO_PODS, NOT_MET, type PluginTools, topPods } from './plugin-tools.ts';

/** Whether pods of `reclaimed_cores` request far more than the node can give them. */
export class ReclaimedResourcesPlugin implements EvictionPlugin {
  readonly name = 'reclaimed-resource-pressure-eviction-plugin';
  readonly #tools: PluginTools;

  constructor(tools: PluginTools) {
    this.#tools = tools;
  }

  async thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    const { pods } = question.activePods;
    if (!pods.some(isReclaimed)) return NOT_MET;
    const canGive = await this.#canGive(question);
    if (canGive.size === 0) {
      this.#tools.unanswered.tell(
        this.name,
        'it is not known how much the node can give to pods of reclaimed_cores',
      );
      return NOT_MET;
    }
    this.#tools.unanswered.answered(this.name);
    const { reclaimedResources } = this.#tools.settings;
    return reclaimedThreshold(pods, canGive, reclaimedResources) ?? NOT_MET;
  }

  /** `topN` of 0 asks for the pods that are only notified, and not evicted. */
  async getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    const { topN, evictionScope, activePods } = question;
    const { reclaimedResources } = this.#tools.settings;
    const pods =
      topN > 0
        ? reclaimedVictims(activePods.pods, evictionScope, topN)
        : reclaimedToNotify(
            activePods.pods,
            evictionScope,
            await this.#canGive(question),
            reclaimedResources,
          );
    return pods.length === 0 ? NO_PODS : topPods(pods, reclaimedResources.gracePeriodSeconds);
  }

  getEvictPods(): Promise<GetEvictPodsAnswer<NamedPod>> {
    return Promise.resolve({ evictPods: [] });
  }

  async #canGive(question: PluginQuestion): Promise<Amounts> {
    const { figures, allocatable } = this.#tools;
    const stats = await figures.pods(question);
    const { pods } = question.activePods;
    return reclaimableResources({ allocatable: allocatable(), pods, stats });
  }
}
