/** What the built-in plugins know of pods and of the machine. */
import { unlessAborted } from '../../system/promises/unless-aborted.ts';
import type { ActivePods, NodeMemoryFigures, PluginQuestion } from '../../types/eviction-plugin.ts';
import type { PodStats, Summary } from '../../types/stats.ts';

/** The part of the runtime's figures that is used here. */
export interface BuiltInStats {
  summary(options: { readonly onlyCPUAndMemory: true }): Promise<Summary>;
  readonly nodeMemory: NodeMemoryFigures;
}

/** By UID: of all pods that are measured, also of such as plugins are not shown. */
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
