import { DEFAULT_BUILT_IN_SETTINGS } from '../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import type { RuledPod } from '../../src/agent/policies/eviction-plugins/collected-answers.ts';
import type {
  ActivePods,
  EvictionPlugin,
  EvictPod,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../src/types/eviction-plugin.ts';
import type { EvictionPluginSettings } from '../../src/types/node-settings.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

export const PLUGIN_SETTINGS: EvictionPluginSettings = {
  enabled: true,
  syncPeriodMs: 5_000,
  timeoutMs: 2_000,
  dryRun: [],
  innerPlugins: ['*'],
  conditionTransitionPeriodMs: 300_000,
  evictionBurst: 3,
  skippedAnnotations: [],
  skippedLabels: [],
  killers: {},
  registryDir: '',
  taintsKubeconfig: '',
  strictAuthentication: false,
  usersFile: '',
  noticesDir: '',
  builtIn: DEFAULT_BUILT_IN_SETTINGS,
};

/** A pod as a plugin names it. */
export function named({ metadata: { namespace, name, uid } }: Pod, nodeName = ''): NamedPod {
  return { namespace, name, uid, nodeName };
}

export const condition = (name: string, more: Partial<PluginCondition> = {}): PluginCondition => ({
  name,
  type: 'NODE_CONDITION',
  effects: ['NoSchedule'],
  met: true,
  ...more,
});

export function met<P = never>(more: Partial<ThresholdMetAnswer<P>> = {}): ThresholdMetAnswer<P> {
  return {
    metType: 'HARD_MET',
    scope: 'memory',
    thresholdValue: 10,
    observedValue: 20,
    gracePeriodSeconds: 0,
    candidatePods: [],
    ...more,
  };
}

export const NOT_MET: ThresholdMetAnswer<never> = {
  metType: 'NOT_MET',
  scope: '',
  thresholdValue: 0,
  observedValue: 0,
  gracePeriodSeconds: 0,
  candidatePods: [],
};

export function wanted<P>(pod: P, more: Partial<EvictPod<P>> = {}): EvictPod<P> {
  return { pod, reason: 'it uses too much', forceEvict: true, ...more };
}

export function ruled(pod: Pod, more: Partial<RuledPod> = {}): RuledPod {
  return { ...wanted(pod), plugin: 'p', scope: 'force', ...more };
}

type Answer<T> = (question: T) => unknown;

/** A plugin whose answers the test sets: a value, a promise, or an error that is thrown. */
export class FakePlugin implements EvictionPlugin {
  readonly name: string;
  /** The questions that it was asked. */
  readonly questions: string[] = [];
  /** The pods that it was shown last. */
  shown: ActivePods = { pods: [] };
  evicts: Answer<PluginQuestion> = () => ({ evictPods: [] });
  threshold: Answer<PluginQuestion> = () => NOT_MET;
  top: Answer<TopEvictionPodsQuestion> = () => ({ targetPods: [] });

  constructor(name: string) {
    this.name = name;
  }

  async getEvictPods(question: PluginQuestion) {
    this.shown = question.activePods;
    return this.#answer<GetEvictPodsAnswer<NamedPod>>('GetEvictPods', this.evicts(question));
  }

  async thresholdMet(question: PluginQuestion) {
    return this.#answer<ThresholdMetAnswer<NamedPod>>('ThresholdMet', this.threshold(question));
  }

  async getTopEvictionPods(question: TopEvictionPodsQuestion) {
    const asked = `GetTopEvictionPods ${question.topN} ${question.evictionScope}`;
    return this.#answer<TopEvictionPodsAnswer<NamedPod>>(asked, this.top(question));
  }

  async #answer<T>(question: string, answer: unknown): Promise<T> {
    this.questions.push(question);
    return (await answer) as T;
  }
}

/** Never answers, even if its signal aborts. */
export const hangs = () => new Promise<never>(() => undefined);

/** An answer that wants these pods gone in any case. */
export const forces = (...pods: readonly (Pod | NamedPod)[]) => ({
  evictPods: pods.map((pod) => wanted('metadata' in pod ? named(pod) : pod)),
});
/** An answer with these pods as candidates. */
export const candidates = (...pods: readonly Pod[]) => ({
  evictPods: pods.map((pod) => wanted(named(pod), { forceEvict: false })),
});
