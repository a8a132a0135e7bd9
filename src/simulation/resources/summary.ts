/** The usage of a simulated node as a kubelet's summary. */
import type { EvictionSignal, MemorySignal } from '../../agent/policies/eviction/signals.ts';
import type {
  ContainerStats,
  FsStats,
  MemoryStats,
  NodeStats,
  PodStats,
  Summary,
} from '../../types/stats.ts';
import type { DiskUse, NodeUse, PodUse, StorageUse } from './node-use.ts';
import type { SimulatedResources } from './simulated-resources.ts';
import type { DiskSizes } from './simulated-storage.ts';

/** Without resources that the node cannot run short of, and without those that were not measured. */
export function summaryOf(
  use: NodeUse,
  resources: SimulatedResources,
  nameOf: (uid: string) => string | undefined,
): Summary {
  const time = timeOf(use.atMs);
  const pods = Array.from(use.pods, ([uid, podUse]): PodStats => {
    const podRef = { name: nameOf(uid) ?? uid, namespace: 'default', uid };
    return { podRef, ...podFigures(podUse, resources, time) };
  });
  return { node: nodeFigures(use, resources, time), pods };
}

function nodeFigures(
  use: NodeUse,
  { memory, processes, storage }: SimulatedResources,
  time: string,
): NodeStats {
  const left = (signal: EvictionSignal) => use.left.get(signal) ?? 0;
  const memoryOf = (signal: MemorySignal): MemoryStats | undefined => {
    const capacity = memory?.capacityOf(signal);
    const availableBytes = left(signal);
    return capacity === undefined || !use.left.has(signal)
      ? undefined
      : { time, availableBytes, workingSetBytes: capacity - availableBytes };
  };
  const [all, ofPods] = [memoryOf('memory.available'), memoryOf('allocatableMemory.available')];
  const maxpid = use.left.has('pid.available') ? processes?.max : undefined;
  return {
    nodeName: 'node',
    ...(all && { memory: all }),
    ...(ofPods && { systemContainers: [{ name: 'pods', memory: ofPods }] }),
    ...(storage && use.left.has('nodefs.available') && fileSystemFigures(storage.sizes, use.left, time)),
    ...(maxpid !== undefined && { rlimit: { time, maxpid, curproc: maxpid - left('pid.available') } }),
  };
}

/** `left`: by signal. */
export function fileSystemFigures(
  { nodeFs, imageFs, layout }: DiskSizes,
  left: NodeUse['left'],
  time: string,
): Required<Pick<NodeStats, 'fs' | 'runtime'>> {
  const figures = (size: DiskUse, name: 'nodefs' | 'imagefs'): FsStats => ({
    time,
    capacityBytes: size.bytes,
    inodes: size.inodes,
    availableBytes: left.get(`${name}.available`) ?? 0,
    inodesFree: left.get(`${name}.inodesFree`) ?? 0,
  });
  const fs = figures(nodeFs, 'nodefs');
  const ofImages = figures(imageFs, 'imagefs');
  return {
    fs,
    runtime: { imageFs: ofImages, containerFs: layout.splitContainerFs ? fs : ofImages },
  };
}

function podFigures(
  { memoryBytes, processes, storage }: PodUse,
  resources: SimulatedResources,
  time: string,
): Omit<PodStats, 'podRef'> {
  return {
    ...(resources.memory && { memory: { time, workingSetBytes: memoryBytes } }),
    ...(resources.processes && { process_stats: { process_count: processes } }),
    ...(storage && storageFigures(storage)),
  };
}

export function storageFigures({
  atMs,
  containers,
  volumes,
  whole,
}: StorageUse): Required<Pick<PodStats, 'containers' | 'volume' | 'ephemeral-storage'>> {
  const time = timeOf(atMs);
  const figures = ({ bytes, inodes }: DiskUse): FsStats => ({ time, usedBytes: bytes, inodesUsed: inodes });
  return {
    containers: containers.map(({ name, layer, logs }): ContainerStats => ({
      name,
      rootfs: figures(layer),
      logs: figures(logs),
    })),
    volume: Array.from(volumes, ([name, used]) => ({ name, ...figures(used) })),
    'ephemeral-storage': figures(whole),
  };
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
