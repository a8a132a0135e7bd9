import {
  judgeNumaNode,
  type NumaVerdict,
  shortNumaNodes,
} from '../../policies/eviction-plugins/built-in/system-pressure.ts';
import {
  memoryVictims,
  victimGracePeriod,
} from '../../policies/eviction-plugins/built-in/built-in-settings.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  NumaNodeMemory,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { NO_PODS, NOT_MET, type PluginTools, topPods } from './plugin-tools.ts';

/** Whether a NUMA node is short of memory although the others may have enough. */
export class NumaMemoryPlugin implements EvictionPlugin {
  readonly name = 'numa-memory-pressure-eviction-plugin';
  readonly #tools: PluginTools;
  /** What the last `thresholdMet` found, by the number of the NUMA node. */
  #verdicts: ReadonlyMap<number, NumaVerdict> = new Map();
  #nodes: readonly NumaNodeMemory[] = [];

  constructor(tools: PluginTools) {
    this.#tools = tools;
  }

  async thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    const { figures, unanswered, settings } = this.#tools;
    this.#nodes = (await figures.memory(question)).numaNodes();
    if (this.#nodes.length < 2) return this.#nothing(this.#nodes.length);
    const judged = this.#nodes.map((node): [number, NumaVerdict] => {
      const times = this.#verdicts.get(node.id)?.times ?? 0;
      return [node.id, judgeNumaNode(node, times, settings.numaMemory)];
    });
    this.#verdicts = new Map(judged);
    unanswered.answered(this.name);
    const [worst] = shortNumaNodes([...this.#verdicts.values()]);
    if (worst === undefined) return NOT_MET;
    const { targetBytes: thresholdValue, freeBytes: observedValue } = worst;
    return { ...NOT_MET, metType: 'HARD_MET', scope: 'NumaMemory', thresholdValue, observedValue };
  }

  /** Goes by what the last `thresholdMet` found. Pods of the node that lacks most come first, others only if these are not enough. */
  async getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    const { figures, unanswered, settings } = this.#tools;
    const short = shortNumaNodes([...this.#verdicts.values()]);
    if (short.length === 0) return NO_PODS;
    const bytes = (await figures.memory(question)).podsByNumaNode();
    if (bytes.size === 0) {
      unanswered.tell(
        this.name,
        'a NUMA node is short of memory, but no cgroup tells which pods have their memory there',
      );
      return NO_PODS;
    }
    const chosen = new Set<Pod>();
    let gracePeriodSeconds = victimGracePeriod('reclaimed', settings.memoryGrace);
    for (const { id, reach } of short) {
      const smallest = settings.numaMemory.smallestShare * this.#totalBytes(id);
      const usedBytes = ({ metadata }: Pod) => bytes.get(metadata.uid)?.get(id) ?? 0;
      const candidates = question.activePods.pods.filter(
        (pod) => usedBytes(pod) >= smallest && !chosen.has(pod),
      );
      const victims = memoryVictims(candidates, reach, usedBytes).slice(0, question.topN - chosen.size);
      for (const pod of victims) chosen.add(pod);
      if (victims.length > 0 && reach === 'any')
        gracePeriodSeconds = victimGracePeriod(reach, settings.memoryGrace);
    }
    return chosen.size === 0 ? NO_PODS : topPods([...chosen], gracePeriodSeconds);
  }

  getEvictPods(): Promise<GetEvictPodsAnswer<NamedPod>> {
    return Promise.resolve({ evictPods: [] });
  }

  #nothing(nodes: number): ThresholdMetAnswer<NamedPod> {
    this.#verdicts = new Map();
    this.#tools.unanswered.tell(
      this.name,
      nodes === 0
        ? 'the kernel does not tell of NUMA nodes in /proc/zoneinfo'
        : 'the machine has one NUMA node: the whole machine is watched by system-memory-pressure-eviction-plugin',
    );
    return NOT_MET;
  }

  #totalBytes(id: number): number {
    return this.#nodes.find((node) => node.id === id)?.totalBytes ?? 0;
  }
}
