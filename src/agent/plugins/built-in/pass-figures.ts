/** Figures for the questions of a pass. */
import { rootfsOf } from '../../policies/eviction-plugins/built-in/rootfs.ts';
import { unlessAborted } from '../../../system/promises.ts';
import type {
  ActivePods,
  NetworkLink,
  NodeCpuFigures,
  NodeMemoryFigures,
  PluginQuestion,
} from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { FsStats, PodStats, Summary } from '../../../types/stats.ts';

/** The part of the runtime's figures that is used here. */
export interface BuiltInStats {
  summary(options: {
    readonly onlyCPUAndMemory?: boolean;
    readonly onlyNode?: boolean;
    readonly network?: boolean;
    readonly diskUsagePatienceMs?: number;
  }): Promise<Summary>;
  readonly nodeMemory: NodeMemoryFigures;
  nodeCpu(): Promise<NodeCpuFigures>;
  networkLinks(): Promise<readonly NetworkLink[]>;
}

/** Figures that are not measured by then are there for the next pass: a plugin has two seconds for its answer. */
const DISKS_PATIENCE_MS = 1000;

/** By UID, of all pods that are measured: also of pods that are not in a plugin's question. */
export type StatsByUid = ReadonlyMap<string, PodStats>;

/** Figures are read once for all plugins that are asked about the same pods. Nothing is read without a question. */
export class FiguresOfPasses {
  readonly #open: () => Promise<BuiltInStats>;
  readonly #allocatable: () => Readonly<Record<string, string>>;
  readonly #read = new WeakMap<ActivePods, Map<string, Promise<unknown>>>();

  constructor(open: () => Promise<BuiltInStats>, allocatable: () => Readonly<Record<string, string>>) {
    this.#open = open;
    this.#allocatable = allocatable;
  }

  of({ activePods, signal }: PluginQuestion): QuestionFigures {
    const known = this.#read.get(activePods) ?? new Map<string, Promise<unknown>>();
    this.#read.set(activePods, known);
    const once = <T>(what: string, read: (stats: BuiltInStats) => T | Promise<T>): Promise<T> => {
      const reading = (known.get(what) as Promise<T> | undefined) ?? this.#open().then(read);
      known.set(what, reading);
      return unlessAborted(reading, signal);
    };
    return new QuestionFigures(once, this.#allocatable);
  }
}

type ReadOnce = <T>(what: string, read: (stats: BuiltInStats) => T | Promise<T>) => Promise<T>;

export class QuestionFigures {
  readonly #once: ReadOnce;
  /** Of the node, by the name of the resource. */
  readonly allocatable: () => Readonly<Record<string, string>>;

  constructor(once: ReadOnce, allocatable: () => Readonly<Record<string, string>>) {
    this.#once = once;
    this.allocatable = allocatable;
  }

  /** Processor time and memory. */
  pods(): Promise<StatsByUid> {
    return this.#once('pods', async (stats) => byUid(await stats.summary({ onlyCPUAndMemory: true })));
  }

  /** With disks, which take far longer. */
  disksOfPods(): Promise<StatsByUid> {
    return this.#once('disks', async (stats) =>
      byUid(await stats.summary({ network: false, diskUsagePatienceMs: DISKS_PATIENCE_MS })),
    );
  }

  rootfs(): Promise<FsStats | undefined> {
    return this.#once('rootfs', async (stats) =>
      rootfsOf((await stats.summary({ onlyNode: true, network: false })).node),
    );
  }

  machineMemory() {
    return this.#once('machine', ({ nodeMemory }) => nodeMemory.machine());
  }

  numaMemory() {
    return this.#once('numa memory', ({ nodeMemory }) => nodeMemory.numaNodes());
  }

  memoryOnNodes() {
    return this.#once('memory on nodes', ({ nodeMemory }) => nodeMemory.podsByNumaNode());
  }

  load() {
    return this.#once('load', async () => (await this.#cpu()).load());
  }

  numaCpus() {
    return this.#once('numa cpus', async () => (await this.#cpu()).numaNodes());
  }

  /** Reads files of each of the pods. */
  async podsOnOneNode(pods: readonly Pod[]) {
    return (await this.#cpu()).podsOnOneNode(pods.map(({ metadata }) => metadata.uid));
  }

  /** Reads a file of each of the pods. */
  async timesOfPods(pods: readonly Pod[]) {
    return (await this.#cpu()).timesOfPods(pods.map(({ metadata }) => metadata.uid));
  }

  links() {
    return this.#once('links', (stats) => stats.networkLinks());
  }

  #cpu() {
    return this.#once('cpu', (stats) => stats.nodeCpu());
  }
}

function byUid({ pods }: Summary): StatsByUid {
  return new Map(pods.map((one) => [one.podRef.uid, one]));
}

/** In processors. */
export function coresIn(stats: StatsByUid): (pod: Pod) => number | undefined {
  return ({ metadata: { uid } }) => {
    const nanos = stats.get(uid)?.cpu?.usageNanoCores;
    return nanos === undefined ? undefined : nanos / 1e9;
  };
}
