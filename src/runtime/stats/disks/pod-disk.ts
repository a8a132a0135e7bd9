import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder } from '../../../policies/cri/cri-labels.ts';
import type { FsStats } from '../../../types/stats.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { ifThere } from '../../../system/system-errors.ts';
import { podPaths } from '../../volumes/pod-paths.ts';
import { type DiskUsed, diskUsed, NOTHING_USED, type Pace, sumOf } from './disk-walk.ts';
import { fileSystemStats } from './file-systems.ts';

export interface VolumeUsed extends DiskUsed {
  readonly name: string;
  /** Of a volume that is a file system of its own: its memory, and not the node's disk, holds it. */
  readonly fs?: FsStats;
}

/** What a pod has on the node, beside the writable layers of its containers. */
export interface PodDisk {
  /** By container, rotated ones and those of former instances included. */
  readonly logs: ReadonlyMap<string, DiskUsed>;
  readonly volumes: readonly VolumeUsed[];
  /** All of it that the node's disk holds. */
  readonly onDisk: DiskUsed;
}

export interface PodDiskPlaces {
  /** Folders of pods, by UID. */
  readonly podsDir: string;
  readonly podLogsDir: string;
  /** What a runtime keeps of the pod beside its layers. */
  readonly scratchOf: (pod: RuntimePodStatus) => readonly string[];
}

export async function measurePodDisk(
  pod: RuntimePodStatus,
  { podsDir, podLogsDir, scratchOf }: PodDiskPlaces,
  pace: Pace,
): Promise<PodDisk> {
  const logs = await measureEach(join(podLogsDir, podLogsFolder(pod)), pace);
  const volumes = await measureVolumes(podsDir, pod.uid, pace);
  const scratch: DiskUsed[] = [];
  for (const folder of scratchOf(pod)) scratch.push(await diskUsed(folder, pace));
  const onDisk = volumes.filter(({ fs }) => fs === undefined);
  return { logs, volumes, onDisk: sumOf([...logs.values(), ...onDisk, ...scratch]) };
}

/** By the names of what is in the folder. */
async function measureEach(folder: string, pace: Pace): Promise<Map<string, DiskUsed>> {
  const used = new Map<string, DiskUsed>();
  for (const name of (await ifThere(readdir(folder))) ?? []) {
    used.set(name, await diskUsed(join(folder, name), pace));
  }
  return used;
}

/** What is there is looked up, and not what the pod's spec says: a hostPath is nobody's, and has no folder here. */
async function measureVolumes(podsDir: string, uid: string, pace: Pace): Promise<readonly VolumeUsed[]> {
  const { podDir, volumesDir } = podPaths(podsDir, uid);
  const device = (await ifThere(stat(podDir)))?.dev;
  const volumes: VolumeUsed[] = [];
  for (const plugin of (await ifThere(readdir(volumesDir))) ?? []) {
    for (const name of (await ifThere(readdir(join(volumesDir, plugin)))) ?? []) {
      const folder = join(volumesDir, plugin, name);
      volumes.push({ name, ...(await measureVolume(folder, device, pace)) });
    }
  }
  return volumes;
}

/** A file system of its own knows by itself what it holds. */
async function measureVolume(
  folder: string,
  device: number | undefined,
  pace: Pace,
): Promise<Omit<VolumeUsed, 'name'>> {
  const own = await ifThere(stat(folder));
  if (own === undefined) return NOTHING_USED;
  if (own.dev === device) return diskUsed(folder, pace);
  const fs = await fileSystemStats(folder);
  return { fs, usedBytes: fs.usedBytes, inodesUsed: fs.inodesUsed };
}
