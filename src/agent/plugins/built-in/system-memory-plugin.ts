import {
  isReclaimed,
  memoryVictims,
  victimGracePeriod,
} from '../../policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  judgeSystem,
  type SystemPressure,
  type SystemPressureMemory,
} from '../../policies/eviction-plugins/built-in/system-pressure.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { NO_PODS, NOT_MET, type PluginTools, type StatsByUid, topPods } from './plugin-tools.ts';

const CONDITION: PluginCondition = {
  name: 'MemoryPressure',
  type: 'NODE_CONDITION',
  effects: ['NoSchedule'],
  met: true,
};

/** Whether the whole machine is short of memory. */
export class SystemMemoryPlugin implements EvictionPlugin {
  readonly name = 'system-memory-pressure-eviction-plugin';
  readonly #tools: PluginTools;
  #kept: SystemPressureMemory = {};
  /** What the last `thresholdMet` found. */
  #pressure: SystemPressure | undefined;
  #namedAtMs = -Infinity;

  constructor(tools: PluginTools) {
    this.#tools = tools;
  }

  async thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    const { figures, unanswered, settings, clock } = this.#tools;
    const machine = (await figures.memory(question)).machine();
    if (machine === undefined) {
      this.#kept = {};
      this.#pressure = undefined;
      unanswered.tell(this.name, 'the kernel does not tell in /proc/meminfo how much memory is free');
      return NOT_MET;
    }
    unanswered.answered(this.name);
    // The figures of pods take far longer to read than those of the machine.
    const mayWait = (machine.psi?.some?.avg10 ?? 0) >= settings.systemMemory.somePercent;
    const { pods } = question.activePods;
    const podsWaited = mayWait ? podsThatWaited(pods, await figures.pods(question)) : undefined;
    const facts = { machine, podsWaited, nowMs: clock.now() };
    const { kept, pressure } = judgeSystem(facts, this.#kept, settings.systemMemory);
    this.#kept = kept;
    this.#pressure = pressure;
    if (pressure === undefined) return NOT_MET;
    const { thresholdValue, observedValue } = pressure;
    const scope = 'SystemMemory';
    return { ...NOT_MET, metType: 'HARD_MET', scope, thresholdValue, observedValue, condition: CONDITION };
  }

  /** Goes by what the last `thresholdMet` found. */
  async getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    const { figures, settings, clock } = this.#tools;
    const pressure = this.#pressure;
    const nowMs = clock.now();
    const elapsedMs = nowMs - this.#namedAtMs;
    // A clock that was set back must not make it wait for long.
    const isCoolingDown = elapsedMs >= 0 && elapsedMs < settings.systemMemory.coolDownMs;
    if (pressure === undefined || isCoolingDown) return NO_PODS;
    const stats = await figures.pods(question);
    const victims = memoryVictims(question.activePods.pods, pressure.reach, usageIn(stats));
    const pods = victims.slice(0, question.topN);
    if (pods.length === 0) return NO_PODS;
    this.#namedAtMs = nowMs;
    return topPods(pods, victimGracePeriod(pressure.reach, settings.memoryGrace));
  }

  getEvictPods(): Promise<GetEvictPodsAnswer<NamedPod>> {
    return Promise.resolve({ evictPods: [] });
  }
}

/** Undefined if the kernel counts it of no pod. */
function podsThatWaited(pods: readonly Pod[], stats: StatsByUid): readonly number[] | undefined {
  const counted = pods.flatMap((pod) => {
    const percent = stats.get(pod.metadata.uid)?.memory?.psi?.some?.avg10;
    return percent === undefined ? [] : [{ pod, percent }];
  });
  if (counted.length === 0) return undefined;
  return counted.filter(({ pod }) => !isReclaimed(pod)).map(({ percent }) => percent);
}

function usageIn(stats: StatsByUid): (pod: Pod) => number | undefined {
  return ({ metadata: { uid } }) => {
    const memory = stats.get(uid)?.memory;
    return memory?.usageBytes ?? memory?.workingSetBytes;
  };
}
