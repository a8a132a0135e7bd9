/** What a pod and its containers take of the node's file systems. */
import type { ContainerStats as RuntimeStats, FilesystemUsage } from '../../../types/cri.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type {
  ContainerStats,
  FsStats,
  PodStats,
  RuntimeStats as NodeRuntimeStats,
  VolumeStats,
} from '../../../types/stats.ts';
import { type DiskUsed, sumOf } from './disk-walk.ts';
import type { MeasuredPodDisk } from './disk-usage.ts';
import type { VolumeUsed } from './pod-disk.ts';
import { runningContainers, timeOf } from '../pod-figures.ts';

export interface DiskSources {
  /** Where volumes are. */
  readonly nodeFs: FsStats | undefined;
  readonly logsFs: FsStats | undefined;
  /** Where images and the writable layers of containers are. */
  readonly runtime: NodeRuntimeStats | undefined;
  /** By the UIDs of their pods. */
  readonly disks: ReadonlyMap<string, MeasuredPodDisk>;
  /** What the runtime says of containers, by their ids. */
  readonly runtimeStats: ReadonlyMap<string, RuntimeStats>;
}

/** Adds them to the other figures of the pod. */
export function withDisk(figures: PodStats, pod: RuntimePodStatus, sources: DiskSources): PodStats {
  const disk = sources.disks.get(pod.uid);
  const layers = runningContainers(pod).map(({ id }) => layerOf(sources.runtimeStats.get(id)));
  const containers = figures.containers?.map((container, index) => {
    const layer = layers[index];
    const logs = disk && fsWith(sources.logsFs, disk.logs.get(container.name), disk.measuredAt);
    const rootfs = layer && { ...fsWith(sources.runtime?.containerFs, layer), time: timeOf(layer.timestamp) };
    return { ...container, ...(rootfs && { rootfs }), ...(logs && { logs }) } satisfies ContainerStats;
  });
  const used = sumOf([...layers.filter((layer) => layer !== undefined), ...(disk ? [disk.onDisk] : [])]);
  return {
    ...figures,
    ...(containers && { containers }),
    ...(disk && { volume: disk.volumes.map((volume) => volumeFigures(volume, disk, sources)) }),
    ...(disk && { 'ephemeral-storage': fsWith(sources.nodeFs, used, disk.measuredAt) }),
  };
}

/** Containerd looks at layers now and then only: until it has, it says nothing of them, at no time. */
function layerOf(told: RuntimeStats | undefined): FilesystemUsage | undefined {
  return told?.writableLayer?.timestamp ? told.writableLayer : undefined;
}

function volumeFigures(
  { name, fs, ...used }: VolumeUsed,
  disk: MeasuredPodDisk,
  { nodeFs }: DiskSources,
): VolumeStats {
  return { name, ...fsWith(fs ?? nodeFs, used, disk.measuredAt) };
}

/** How large the file system is, and what one thing takes of it. */
function fsWith(fs: FsStats | undefined, used: DiskUsed | undefined, measuredAt?: number): FsStats {
  const { usedBytes, inodesUsed } = used ?? { usedBytes: 0, inodesUsed: 0 };
  const time = measuredAt === undefined ? {} : { time: new Date(measuredAt).toISOString() };
  return { ...fs, ...time, usedBytes, inodesUsed };
}
