/** The figures of a node and its pods, from the kernel and the runtime. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ContainerStats as RuntimeStats } from '../../../types/cri.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { NetworkLink, NodeCpuFigures } from '../../../types/eviction-plugin.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { ClaimStats, NodeStats, PodStats, PSIStats, Summary } from '../../../types/stats.ts';
import { CgroupTree } from '../cgroups/cgroup-tree.ts';
import type { CallOptions } from '../service/runtime-service.ts';
import type { GroupFigures } from './cadvisor/group-figures.ts';
import { GroupScan } from './cadvisor/group-scan.ts';
import { CgroupStats } from './cgroup-stats.ts';
import { CpuRates, IORates } from './io-rates.ts';
import { ClaimFigures } from './disks/claim-figures.ts';
import { type DiskSources, logsOf, withDisk } from './disks/disk-figures.ts';
import { DiskUsage } from './disks/disk-usage.ts';
import {
  groupGauge,
  machineGauge,
  type MemoryAvailable,
  type MemoryCrossing,
  type MemoryGauge,
  type MemorySignal,
  type MemoryThreshold,
  MemoryWatch,
  type MemoryWatchParts,
} from './memory-watch.ts';
import { isWholeMachine, memoryCapacity } from './memory-files.ts';
import { NodeDisks, type DiskLayout } from './disks/node-disks.ts';
import { NodeFigures } from './node-figures.ts';
import { NodeMemoryReader, type NodeMemorySources } from './node-memory-reader.ts';
import { hasFigures, podFigures, type PodSources, runningContainers } from './pod-figures.ts';
import { PodGroups } from './pod-groups.ts';
import { PodNetworks } from './network-figures.ts';
import { type PressureCrossing, type PressureThreshold, PressureWatch } from './pressure-watch.ts';
import { readSmallFile } from './small-files.ts';
import type { PodLogs, StatsProvider, StatsProviderParts, SummaryOptions, Watch } from './stats-provider.ts';

/** The default of the kubelet's volumeStatsAggPeriod. */
const DISK_USAGE_MAX_AGE_MS = 60_000;
const DISK_USAGE_PATIENCE_MS = 2000;
/** A pod takes about a hundred microseconds: other work waits for a few milliseconds at most. */
const PODS_PER_TURN = 25;

export function openStatsProvider(context: AgentContext, parts: StatsProviderParts): StatsProvider {
  return new KernelStats(context, parts);
}

class KernelStats implements StatsProvider {
  readonly nodeMemory: NodeMemoryReader;
  readonly #nodeSources: NodeMemorySources;
  readonly #context: AgentContext;
  readonly #parts: StatsProviderParts;
  readonly #tree: CgroupTree | undefined;
  readonly #groups: CgroupStats | undefined;
  readonly #podGroups: PodGroups | undefined;
  readonly #rates = new CpuRates();
  readonly #ioRates: IORates | undefined;
  readonly #networks: PodNetworks | undefined;
  readonly #node: NodeFigures;
  readonly #disks: NodeDisks;
  readonly #diskUsage: DiskUsage;
  readonly #claims: ClaimFigures;
  /** By signal, and for that of the pods by their group. */
  readonly #gauges = new Map<string, MemoryGauge | undefined>();
  readonly #watches = new Set<Watch>();
  readonly #groupScan: GroupScan;
  readonly #closing = new AbortController();
  readonly #containerGroup: PodSources['containerGroup'] = (podGroup, id) =>
    this.#podGroups?.ofContainer(podGroup, id) ?? podGroup;

  constructor(context: AgentContext, parts: StatsProviderParts) {
    this.#context = context;
    this.#parts = parts;
    const { root = '/', scratchOf = () => [], podOf = () => undefined } = parts;
    const { systemGroups = { runtime: '', misc: '' } } = parts;
    const tree = openTree(context, parts.mountinfoFile);
    const podGroups = tree && openPodGroups(tree, parts);
    this.#tree = tree;
    this.#podGroups = podGroups;
    this.#ioRates = tree && new IORates(context, tree, root);
    this.#networks = parts.sharesNetwork ? undefined : podGroups && new PodNetworks(tree, podGroups, root);
    this.#groups = tree && new CgroupStats(tree);
    this.#nodeSources = { tree, podGroups, root };
    this.nodeMemory = new NodeMemoryReader(this.#nodeSources);
    const kubepods = () => podGroups?.qos.kubepods;
    this.#node = new NodeFigures({ tree, kubepods, systemGroups, rates: this.#rates, root });
    this.#disks = new NodeDisks(context, parts);
    this.#groupScan = new GroupScan(context, { tree, podGroups, root });
    const podsDir = join(parts.rootDir, 'pods');
    this.#diskUsage = new DiskUsage(context, { podsDir, scratchOf });
    this.#claims = new ClaimFigures(context, { podsDir, podOf, csiFigures: parts.csiFigures });
  }

  async summary(options: SummaryOptions = {}): Promise<Summary> {
    const { nodeName } = this.#parts;
    const pods = options.onlyNode ? [] : [...this.#parts.pods()].filter(hasFigures);
    const [ioRates, disks] = await Promise.all([
      this.#ioRatesOf(pods, options),
      options.onlyCPUAndMemory ? undefined : this.#disksOf(pods, options),
    ]);
    const runtimeStats = disks?.runtimeStats ?? (await this.#runtimeStatsOf(pods, options));
    // CPU and memory change fastest: they are read last.
    const nowMs = this.#context.clock.now();
    const hasNetwork = options.network ?? true;
    const networks = disks && hasNetwork ? this.#networks : undefined;
    const swap = this.#node.swap(nowMs);
    const figures = await this.#figuresOf(pods, {
      runtimeStats,
      ioRates,
      networks,
      machineSwap: swap,
      hasIO: disks !== undefined,
      nowMs,
    });
    const node = {
      nodeName,
      ...this.#node.processorAndMemory({
        nowMs,
        onlyPods: options.onlyNode === true,
        hasSwapAndIO: disks !== undefined,
        machineSwap: swap,
      }),
      ...(swap && { swap }),
      ...(disks && (await this.#diskAndNetwork(disks, hasNetwork, nowMs))),
    };
    this.#rates.forgetOld(nowMs);
    return { node, pods: figures.map(({ pod, stats }) => (disks ? withDisk(stats, pod, disks) : stats)) };
  }

  async groupFigures(): Promise<readonly GroupFigures[]> {
    const pods = [...this.#parts.pods()].filter(hasFigures);
    const runtimeStats = await this.#runtimeStatsOf(pods, {});
    return this.#groupScan.read({ pods, runtimeStats, nowMs: this.#context.clock.now() });
  }

  async logFigures(): Promise<readonly PodLogs[]> {
    const pods = [...this.#parts.pods()].filter(hasFigures);
    const logs = await logsOf(pods, this.#parts.podLogsDir);
    return pods.map((pod) => {
      const running = new Set(runningContainers(pod).map(({ name }) => name));
      const used = [...(logs.get(pod.uid) ?? [])].filter(([name]) => running.has(name));
      return { pod, used: new Map(used) };
    });
  }

  async claimFigures(): Promise<readonly ClaimStats[]> {
    const uids = [...this.#parts.pods()].filter(hasFigures).map(({ uid }) => uid);
    return [...(await this.#claims.of(uids)).values()].flat();
  }

  memoryAvailable(signal: MemorySignal, enoughBytes?: number): MemoryAvailable | undefined {
    const key = signal === 'allocatableMemory.available' ? (this.#podGroups?.qos.kubepods ?? signal) : signal;
    if (!this.#gauges.has(key)) this.#gauges.set(key, this.#gauge(signal));
    return this.#gauges.get(key)?.read(enoughBytes);
  }

  watchMemory(thresholds: readonly MemoryThreshold[], onCrossed: (crossing: MemoryCrossing) => void): Watch {
    const available: MemoryWatchParts['available'] = (signal, enoughBytes) =>
      this.memoryAvailable(signal, enoughBytes);
    const cpus = availableParallelism();
    return this.#keep(new MemoryWatch(this.#context, { thresholds, available, cpus, onCrossed }));
  }

  watchPressure(
    thresholds: readonly PressureThreshold[],
    onCrossed: (crossing: PressureCrossing) => void,
  ): Watch {
    const folder = join(this.#parts.root ?? '/', 'proc/pressure');
    return this.#keep(new PressureWatch(this.#context, folder, thresholds, onCrossed));
  }

  pressure(resource: 'cpu' | 'memory' | 'io'): PSIStats | undefined {
    return this.#node.pressure(resource);
  }

  /** Few nodes have a plugin that asks for it. */
  async nodeCpu(): Promise<NodeCpuFigures> {
    const { NodeCpuReader } = await import('./node-cpu-reader.ts');
    return new NodeCpuReader(this.#nodeSources);
  }

  async networkLinks(): Promise<readonly NetworkLink[]> {
    const { networkLinks } = await import('./network-links.ts');
    return networkLinks(this.#nodeSources.root);
  }

  diskLayout(): Promise<DiskLayout> {
    return this.#disks.layout();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const watch of this.#watches) watch.stop();
    for (const gauge of this.#gauges.values()) gauge?.close();
    await Promise.all([this.#diskUsage.stop(), this.#groupScan.close()]);
  }

  /** Keeps the watch until it is stopped or the provider is closed. */
  #keep(watch: Watch): Watch {
    this.#watches.add(watch);
    return {
      stop: () => {
        watch.stop();
        this.#watches.delete(watch);
      },
    };
  }

  async #figuresOf(
    pods: readonly RuntimePodStatus[],
    measured: Omit<PodSources, 'rates' | 'groups' | 'groupOf' | 'containerGroup'>,
  ): Promise<readonly PodFigures[]> {
    const sources = {
      ...measured,
      rates: this.#rates,
      groups: this.#groups,
      groupOf: this.#groupOf(),
      containerGroup: this.#containerGroup,
    };
    const figures: PodFigures[] = [];
    for (const pod of pods) {
      if (figures.length % PODS_PER_TURN === PODS_PER_TURN - 1) await nextTurn();
      figures.push({ pod, stats: podFigures(pod, sources) });
    }
    return figures;
  }

  async #disksOf(pods: readonly RuntimePodStatus[], options: SummaryOptions): Promise<DiskSources> {
    const { diskUsageMaxAgeMs = DISK_USAGE_MAX_AGE_MS, diskUsagePatienceMs = DISK_USAGE_PATIENCE_MS } =
      options;
    const call = { signal: options.signal };
    const limits = { maxAgeMs: diskUsageMaxAgeMs, patienceMs: diskUsagePatienceMs };
    const isWhole = options.network ?? true;
    const [disks, claims, runtimeStats] = await Promise.all([
      // `of` forgets the pods that it is not asked for: it is not called without pods.
      options.onlyNode ? new Map() : this.#diskUsage.of(pods, limits),
      this.#claims.of(isWhole ? pods.map(({ uid }) => uid) : []),
      pods.length === 0 ? new Map() : this.#runtimeStats(call),
    ]);
    // After the wait for volumes.
    const [logs, nodeFs, logsFs, runtime] = await Promise.all([
      logsOf(options.onlyNode ? [] : pods, this.#parts.podLogsDir),
      this.#disks.nodeFs(),
      this.#disks.logsFs(),
      this.#disks.runtime(call),
    ]);
    return { disks, logs, claims, runtimeStats, nodeFs, logsFs, runtime };
  }

  /** Empty if rates were not asked for, or `signal` has aborted. */
  async #ioRatesOf(
    pods: readonly RuntimePodStatus[],
    { ioOverMs, signal }: SummaryOptions,
  ): Promise<ReadonlyMap<string, number>> {
    if (ioOverMs === undefined || this.#ioRates === undefined) return new Map();
    const groupOf = this.#groupOf();
    const groups = pods.flatMap(({ uid }): [string, string][] => {
      const group = groupOf.get(uid);
      return group === undefined ? [] : [[uid, group]];
    });
    const aborted = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
    const rates = this.#ioRates.measure(new Map(groups), ioOverMs, aborted);
    return rates.catch((error: unknown) => {
      if (!aborted.aborted) throw error;
      return new Map();
    });
  }

  /** The node's figures that only a summary with disks has. */
  async #diskAndNetwork(
    { nodeFs, runtime }: DiskSources,
    hasNetwork: boolean,
    nowMs: number,
  ): Promise<Partial<NodeStats>> {
    const io = this.#node.io(nowMs);
    const network = hasNetwork ? this.#node.network(nowMs) : undefined;
    const rlimit = await this.#node.rlimit(nowMs);
    return {
      ...(io && { io }),
      ...(network && { network }),
      ...(nodeFs && { fs: nodeFs }),
      ...(runtime && { runtime }),
      rlimit,
    };
  }

  /** The runtime is asked only if a pod has no group that counts its figures. */
  async #runtimeStatsOf(
    pods: readonly RuntimePodStatus[],
    { signal }: SummaryOptions,
  ): Promise<RuntimeStatsById> {
    const groupOf = this.#groupOf();
    return pods.every(({ uid }) => groupOf.has(uid)) ? new Map() : this.#runtimeStats({ signal });
  }

  async #runtimeStats(call: CallOptions): Promise<RuntimeStatsById> {
    try {
      const stats = await this.#parts.runtime.listContainerStats(undefined, call);
      return new Map(stats.map((one) => [one.attributes.id, one]));
    } catch (error) {
      this.#context.logger.debug({}, `The runtime has no figures of containers: ${errorMessage(error)}`);
      return new Map();
    }
  }

  #groupOf(): ReadonlyMap<string, string> {
    return this.#podGroups?.byPod() ?? new Map();
  }

  #gauge(signal: MemorySignal): MemoryGauge | undefined {
    const tree = this.#tree;
    if (signal === 'allocatableMemory.available') {
      return tree && this.#podGroups && groupGauge(tree, this.#podGroups.qos.kubepods);
    }
    const meminfo = join(this.#parts.root ?? '/', 'proc/meminfo');
    if (tree !== undefined && isWholeMachine(tree)) return machineGauge(meminfo);
    const capacityBytes = memoryCapacity(readSmallFile(meminfo));
    return (tree && groupGauge(tree, '/', capacityBytes)) ?? machineGauge(meminfo);
  }
}

interface PodFigures {
  readonly pod: RuntimePodStatus;
  readonly stats: PodStats;
}

type RuntimeStatsById = ReadonlyMap<string, RuntimeStats>;

function openPodGroups(
  tree: CgroupTree,
  { cgroupRoot, cgroupDriver = () => 'cgroupfs' }: StatsProviderParts,
): PodGroups | undefined {
  return cgroupRoot === undefined ? undefined : new PodGroups(tree, cgroupRoot, cgroupDriver);
}

/** Undefined if there are no readable cgroups: figures then come from `/proc` and the runtime. */
function openTree({ logger }: AgentContext, mountinfoFile = '/proc/self/mountinfo'): CgroupTree | undefined {
  try {
    return new CgroupTree(mountinfoFile, [], logger);
  } catch (error) {
    logger.debug({}, `Figures come without cgroups: ${errorMessage(error)}`);
    return undefined;
  }
}
