import { errorMessage } from '../../types/errors.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../types/eviction-plugin.ts';
import type { Excuses } from './excuses.ts';
import { NO_PODS, NOT_MET } from './plain-answers.ts';

/** Where figures cannot be read, the plugin has nothing to say: no pod goes for it. An answer that is not awaited any more rejects. */
export class QuietPlugin implements EvictionPlugin {
  readonly name: string;
  readonly #plugin: EvictionPlugin;
  readonly #excuses: Excuses;

  constructor(plugin: EvictionPlugin, excuses: Excuses) {
    this.name = plugin.name;
    this.#plugin = plugin;
    this.#excuses = excuses;
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
      this.#excuses.give(this.name, `its figures cannot be read: ${errorMessage(error)}`);
      return answer;
    };
  }
}
