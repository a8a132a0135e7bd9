import { unlessAborted } from '../../../system/promises.ts';
import type { BuiltInSettings } from '../../../types/built-in-thresholds.ts';
import type { Clock } from '../../../types/clock.ts';
import type {
  ActivePods,
  NamedPod,
  NodeMemoryFigures,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { Logger } from '../../../types/logger.ts';
import type { PodStats, Summary } from '../../../types/stats.ts';

/** What a built-in plugin works with. */
export interface PluginTools {
  readonly settings: BuiltInSettings;
  readonly figures: QuestionFigures;
  /** Of the node, by the name of the resource. */
  readonly allocatable: () => Readonly<Record<string, string>>;
  readonly clock: Pick<Clock, 'now'>;
  readonly unanswered: UnansweredLog;
}

/** Logs why a plugin cannot answer: each reason once, and again only after the plugin could answer. */
export class UnansweredLog {
  readonly #logger: Logger;
  readonly #reasons = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(plugin: string, reason: string): void {
    if (reason !== this.#reasons.get(plugin)) this.#logger.info({ plugin }, `${plugin}: ${reason}`);
    this.#reasons.set(plugin, reason);
  }

  /** To be called when the plugin could answer: the next reason is logged again. */
  answered(plugin: string): void {
    this.#reasons.delete(plugin);
  }
}

/** The part of the runtime's figures that is used here. */
export interface BuiltInStats {
  summary(options: { readonly onlyCPUAndMemory: true }): Promise<Summary>;
  readonly nodeMemory: NodeMemoryFigures;
}

/** By UID, of all pods that are measured: also of pods that are not in a plugin's question. */
export type StatsByUid = ReadonlyMap<string, PodStats>;

/** The figures of pods are read once for all plugins that are asked about the same pods. Nothing is read without a question. */
export class QuestionFigures {
  readonly #open: () => Promise<BuiltInStats>;
  readonly #read = new WeakMap<ActivePods, Promise<StatsByUid>>();

  constructor(open: () => Promise<BuiltInStats>) {
    this.#open = open;
  }

  pods({ activePods, signal }: PluginQuestion): Promise<StatsByUid> {
    const reading = this.#read.get(activePods) ?? this.#readPods();
    this.#read.set(activePods, reading);
    return unlessAborted(reading, signal);
  }

  async memory({ signal }: PluginQuestion): Promise<NodeMemoryFigures> {
    const { nodeMemory } = await unlessAborted(this.#open(), signal);
    return nodeMemory;
  }

  async #readPods(): Promise<StatsByUid> {
    const stats = await this.#open();
    const { pods } = await stats.summary({ onlyCPUAndMemory: true });
    return new Map(pods.map((one) => [one.podRef.uid, one]));
  }
}

export const NOT_MET: ThresholdMetAnswer<NamedPod> = {
  metType: 'NOT_MET',
  scope: '',
  thresholdValue: 0,
  observedValue: 0,
  gracePeriodSeconds: 0,
  candidatePods: [],
};

export const NO_PODS: TopEvictionPodsAnswer<NamedPod> = { targetPods: [] };

export function named({ metadata: { namespace, name, uid }, spec: { nodeName = '' } }: Pod): NamedPod {
  return { namespace, name, uid, nodeName };
}

export function topPods(
  pods: readonly Pod[],
  gracePeriodSeconds: number | undefined,
): TopEvictionPodsAnswer<NamedPod> {
  return { targetPods: pods.map(named), gracePeriodSeconds };
}
