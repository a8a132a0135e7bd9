/** What a pod and its containers use of the node's file systems. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder } from '../../../policies/cri/cri-labels.ts';
import { inFolder, placeOf } from '../../../../system/files/open-place.ts';
import { eachOf } from '../../../../system/promises.ts';
import type { ContainerStats as RuntimeStats, FilesystemUsage } from '../../../../types/cri.ts';
import type { RuntimePodStatus } from '../../../../types/runtime-pod.ts';
import type {
  ContainerStats,
  FsStats,
  PodStats,
  RuntimeStats as NodeRuntimeStats,
  VolumeStats,
} from '../../../../types/stats.ts';
import { runningContainers, timeOf } from '../pod-figures.ts';
import type { MeasuredPodDisk } from './disk-usage.ts';
import { type DiskUsed, NOTHING_USED, sumOf } from './disk-walk.ts';
import type { VolumeUsed } from './pod-disk.ts';

export interface DiskSources {
  /** The file system of volumes. */
  readonly nodeFs: FsStats | undefined;
  readonly logsFs: FsStats | undefined;
  /** The file systems of images and writable layers. */
  readonly runtime: NodeRuntimeStats | undefined;
  /** By the pod's UID: of volumes. */
  readonly disks: ReadonlyMap<string, MeasuredPodDisk>;
  /** By the pod's UID, as they are now. */
  readonly logs: ReadonlyMap<string, LogsUsed>;
  /** Volumes with claims, by the pod's UID. */
  readonly claims: ReadonlyMap<string, readonly VolumeStats[]>;
  /** The runtime's figures of containers, by id. */
  readonly runtimeStats: ReadonlyMap<string, RuntimeStats>;
}

/** Adds the figures of disks to the pod's other figures. */
export function withDisk(figures: PodStats, pod: RuntimePodStatus, sources: DiskSources): PodStats {
  const disk = sources.disks.get(pod.uid);
  const logsUsed = sources.logs.get(pod.uid);
  const layers = runningContainers(pod).map(({ id }) => layerOf(sources.runtimeStats.get(id)));
  const containers = figures.containers?.map((container, index) => {
    const layer = layers[index];
    const logs = logsUsed && fsWith(sources.logsFs, logsUsed.get(container.name));
    const rootfs = layer && { ...fsWith(sources.runtime?.containerFs, layer), time: timeOf(layer.timestamp) };
    return { ...container, ...(rootfs && { rootfs }), ...(logs && { logs }) } satisfies ContainerStats;
  });
  const used = sumOf([
    ...layers.filter((layer) => layer !== undefined),
    ...(logsUsed?.values() ?? []),
    ...(disk ? [disk.onDisk] : []),
  ]);
  const volumes = [
    ...(disk?.volumes.map((volume) => volumeFigures(volume, disk, sources)) ?? []),
    ...(sources.claims.get(pod.uid) ?? []),
  ];
  return {
    ...figures,
    ...(containers && { containers }),
    ...(volumes.length > 0 && { volume: volumes }),
    ...(disk && { 'ephemeral-storage': fsWith(sources.nodeFs, used) }),
  };
}

/** containerd measures layers only now and then: before the first time, the figure has no timestamp. */
function layerOf(reported: RuntimeStats | undefined): FilesystemUsage | undefined {
  return reported?.writableLayer?.timestamp ? reported.writableLayer : undefined;
}

function volumeFigures(
  { name, fs, ...used }: VolumeUsed,
  disk: MeasuredPodDisk,
  { nodeFs }: DiskSources,
): VolumeStats {
  return { name, ...fsWith(fs ?? nodeFs, used, disk.measuredAt) };
}

/** The size of the file system with the usage of one thing. */
function fsWith(fs: FsStats | undefined, used: DiskUsed | undefined, measuredAt?: number): FsStats {
  const { usedBytes, inodesUsed } = used ?? { usedBytes: 0, inodesUsed: 0 };
  const time = measuredAt === undefined ? {} : { time: new Date(measuredAt).toISOString() };
  return { ...fs, ...time, usedBytes, inodesUsed };
}

const BLOCK_BYTES = 512;

const PODS_AT_ONCE = 8;

/** Rotation leaves a few files for each instance of a container. Beyond this, files are not counted. */
const FILES_MAX = 1000;

/** By the container's name, including rotated logs and those of former instances. */
type LogsUsed = ReadonlyMap<string, DiskUsed>;

/**
 * By the pod's UID. Logs are a few files in a known place: as with the kubelet they are looked at for each request, while volumes, which
 * may have any number of files, are measured once a minute. Files that cannot be read count nothing.
 */
export async function logsOf(
  pods: readonly RuntimePodStatus[],
  podLogsDir: string,
): Promise<ReadonlyMap<string, LogsUsed>> {
  const used = new Map<string, LogsUsed>();
  await eachOf(pods, PODS_AT_ONCE, async (pod) => {
    used.set(pod.uid, await logsIn(join(podLogsDir, podLogsFolder(pod))));
  });
  return used;
}

async function logsIn(podFolder: string): Promise<LogsUsed> {
  const used = new Map<string, DiskUsed>();
  for (const container of await namesIn(podFolder)) {
    const folder = join(podFolder, container);
    const files = (await namesIn(folder)).map((name) => join(folder, name));
    used.set(container, sumOf(await Promise.all([folder, ...files].map(sizeOf))));
  }
  return used;
}

async function sizeOf(path: string): Promise<DiskUsed> {
  try {
    return { usedBytes: (await lstat(path)).blocks * BLOCK_BYTES, inodesUsed: 1 };
  } catch {
    return NOTHING_USED;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await inFolder(folder, (opened) => readdir(placeOf(opened)))).slice(0, FILES_MAX);
  } catch {
    // It is no folder, or was removed meanwhile.
    return [];
  }
}
