/** What a pod and its containers use of CPU, memory and PIDs: from their groups, or else from the runtime. */
import type { ContainerStats as RuntimeStats } from '../../../types/cri.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type {
  ContainerStats,
  CPUStats,
  IOStats,
  MemoryStats,
  NetworkStats,
  PodStats,
  SwapStats,
} from '../../../types/stats.ts';
import type { CgroupStats } from './cgroup-stats.ts';
import type { CpuRates } from './io-rates.ts';

/** Gives the figures of a pod's own network; `group` is the pod's group. */
export interface NetworkSource {
  of(pod: RuntimePodStatus, group: string, time: string): NetworkStats | undefined;
}

export interface PodSources {
  readonly nowMs: number;
  readonly rates: CpuRates;
  /** Undefined if there are no cgroups. */
  readonly groups: CgroupStats | undefined;
  /** Undefined if the kernel has no such figures. */
  readonly machineSwap: Required<SwapStats> | undefined;
  /** The groups of pods, by UID. */
  readonly groupOf: ReadonlyMap<string, string>;
  /** The group of a container of the pod with that group. */
  readonly containerGroup: (podGroup: string, id: string) => string;
  /** The runtime's figures of containers, by id. */
  readonly runtimeStats: ReadonlyMap<string, RuntimeStats>;
  /** Bytes a second, by UID; empty if they were not asked for. */
  readonly ioRates: ReadonlyMap<string, number>;
  /** As with the kubelet, a Summary of CPU and memory has no pressure of I/O. */
  readonly hasIO: boolean;
  /** Undefined if network figures were not asked for. */
  readonly networks: NetworkSource | undefined;
}

/** A pod that does not run has no figures: they would be old ones. */
export function hasFigures(pod: RuntimePodStatus): boolean {
  return pod.sandboxes.some(({ ready }) => ready) || runningContainers(pod).length > 0;
}

export function runningContainers({ containers }: RuntimePodStatus): readonly RuntimeContainerStatus[] {
  return containers.filter(({ state }) => state === 'running');
}

export function podFigures(pod: RuntimePodStatus, sources: PodSources): PodStats {
  const { groups, groupOf, rates, ioRates, networks, nowMs } = sources;
  const { name, namespace, uid, sandboxes } = pod;
  const time = new Date(nowMs).toISOString();
  const group = groupOf.get(uid);
  const containers = runningContainers(pod).map((container) => containerFigures(container, group, sources));
  const counted = countedFigures(group, sources);
  const memory = counted.memory ?? sumOfMemory(containers, time);
  const cpu = rates.withRate(uid, counted.cpu ?? sumOfCPU(containers, time), nowMs);
  const io = withRate(counted.io, ioRates.get(uid), time);
  const network = group === undefined ? undefined : networks?.of(pod, group, time);
  const pids = (group === undefined ? undefined : groups?.pids(group)) ?? sumOfProcesses(pod, sources);
  return {
    podRef: { name, namespace, uid },
    ...startTime(sandboxes[0]?.createdAt),
    containers,
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...(counted.swap && { swap: counted.swap }),
    ...(io && { io }),
    ...(network && { network }),
    ...(pids !== undefined && { process_stats: { process_count: pids } }),
  };
}

function containerFigures(
  { id, name, startedAt }: RuntimeContainerStatus,
  podGroup: string | undefined,
  sources: PodSources,
): ContainerStats {
  const reported = sources.runtimeStats.get(id);
  const counted = countedFigures(podGroup && sources.containerGroup(podGroup, id), sources);
  const memory = counted.memory ?? memoryByRuntime(reported);
  const { swap, io } = counted;
  const cpu = sources.rates.withRate(id, counted.cpu ?? cpuByRuntime(reported), sources.nowMs);
  return {
    name,
    ...startTime(startedAt),
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...(io && { io }),
    ...(swap && { swap }),
  };
}

interface CountedFigures {
  readonly cpu?: CPUStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly io?: IOStats | undefined;
}

/** Empty without a group. */
function countedFigures(
  group: string | undefined,
  { groups, machineSwap, hasIO, nowMs }: PodSources,
): CountedFigures {
  if (group === undefined || groups === undefined) return {};
  const time = new Date(nowMs).toISOString();
  const io = hasIO ? groups.io(group, time) : undefined;
  return { cpu: groups.cpu(group, time), ...groups.memoryAndSwap(group, time, machineSwap), io };
}

function withRate(
  io: IOStats | undefined,
  bytesPerSecond: number | undefined,
  time: string,
): IOStats | undefined {
  return bytesPerSecond === undefined ? io : { time, ...io, bytesPerSecond };
}

function startTime(atMs: number | undefined): { readonly startTime?: string } {
  return atMs ? { startTime: new Date(atMs).toISOString() } : {};
}

function memoryByRuntime(reported: RuntimeStats | undefined): MemoryStats | undefined {
  if (reported?.memory === undefined) return undefined;
  const { timestamp, workingSetBytes, rssBytes } = reported.memory;
  return { time: timeOf(timestamp), workingSetBytes, rssBytes };
}

function cpuByRuntime(reported: RuntimeStats | undefined): CPUStats | undefined {
  if (reported?.cpu === undefined) return undefined;
  const { timestamp, usageCoreNanoSeconds } = reported.cpu;
  return { time: timeOf(timestamp), usageCoreNanoSeconds };
}

const NS_PER_MS = 1_000_000;

/** The time of CRI's Unix nanoseconds. */
export function timeOf(timestampNs: number): string {
  return new Date(timestampNs / NS_PER_MS).toISOString();
}

function sumOfMemory(containers: readonly ContainerStats[], time: string): MemoryStats | undefined {
  const known = containers.flatMap(({ memory }) => memory ?? []);
  if (known.length === 0) return undefined;
  const sum = (of: (memory: MemoryStats) => number | undefined): number =>
    known.reduce((total, memory) => total + (of(memory) ?? 0), 0);
  return {
    time,
    workingSetBytes: sum(({ workingSetBytes }) => workingSetBytes),
    rssBytes: sum(({ rssBytes }) => rssBytes),
  };
}

function sumOfCPU(containers: readonly ContainerStats[], time: string): CPUStats | undefined {
  const known = containers.flatMap(({ cpu }) => cpu?.usageCoreNanoSeconds ?? []);
  return known.length === 0 ? undefined : { time, usageCoreNanoSeconds: known.reduce((a, b) => a + b, 0) };
}

function sumOfProcesses(pod: RuntimePodStatus, { runtimeStats }: PodSources): number | undefined {
  const known = runningContainers(pod).flatMap(({ id }) => runtimeStats.get(id)?.processCount ?? []);
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0);
}
