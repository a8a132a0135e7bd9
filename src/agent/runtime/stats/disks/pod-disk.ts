import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PERSISTENT_FOLDERS } from '../../../policies/volumes/volume-source.ts';
import type { FsStats } from '../../../../types/stats.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { RuntimePodStatus } from '../../../../types/runtime-pod.ts';
import { ifThere } from '../../../../system/system-errors.ts';
import { podPaths } from '../../volumes/pod-paths.ts';
import { type DiskUsed, diskUsed, NOTHING_USED, type Pace, sumOf } from './disk-walk.ts';
import { fileSystemStats } from './file-systems.ts';

export interface VolumeUsed extends DiskUsed {
  readonly name: string;
  /** Present if the volume is a file system in memory: it uses nothing of the node's disk. */
  readonly fs?: FsStats;
}

/** What a pod has on the node, without the writable layers of its containers and their logs. */
export interface PodDisk {
  readonly volumes: readonly VolumeUsed[];
  /** The sum of what is on the node's disk. */
  readonly onDisk: DiskUsed;
}

export interface PodDiskPlaces {
  /** The folder of pods' folders. */
  readonly podsDir: string;
  /** Folders that the runtime keeps for the pod, in addition to its containers' layers. */
  readonly scratchOf: (pod: RuntimePodStatus) => readonly string[];
}

type Walk = (folder: string) => Promise<DiskUsed>;

export async function measurePodDisk(
  { measurements }: AgentContext,
  pod: RuntimePodStatus,
  { podsDir, scratchOf }: PodDiskPlaces,
  pace: Pace,
): Promise<PodDisk> {
  const volumes = await measureVolumes(podsDir, pod.uid, async (folder) => {
    const end = measurements?.volumeWalk();
    const used = await diskUsed(folder, pace);
    end?.();
    return used;
  });
  const scratch: DiskUsed[] = [];
  for (const folder of scratchOf(pod)) scratch.push(await diskUsed(folder, pace));
  const onDisk = volumes.filter(({ fs }) => fs === undefined);
  return { volumes, onDisk: sumOf([...onDisk, ...scratch]) };
}

/**
 * The volumes that have a folder, whatever the pod's spec says. A hostPath belongs to no pod and has no folder here. What is in the
 * folder of a claim is not the pod's either.
 */
async function measureVolumes(podsDir: string, uid: string, walk: Walk): Promise<readonly VolumeUsed[]> {
  const { podDir, volumesDir } = podPaths(podsDir, uid);
  const device = (await ifThere(stat(podDir)))?.dev;
  const volumes: VolumeUsed[] = [];
  for (const plugin of (await ifThere(readdir(volumesDir))) ?? []) {
    if (PERSISTENT_FOLDERS.has(plugin)) continue;
    for (const name of (await ifThere(readdir(join(volumesDir, plugin)))) ?? []) {
      const folder = join(volumesDir, plugin, name);
      volumes.push({ name, ...(await measureVolume(folder, device, walk)) });
    }
  }
  return volumes;
}

/** A volume that is a file system of its own needs no walk: the kernel knows its usage. */
async function measureVolume(
  folder: string,
  device: number | undefined,
  walk: Walk,
): Promise<Omit<VolumeUsed, 'name'>> {
  const own = await ifThere(stat(folder));
  if (own === undefined) return NOTHING_USED;
  if (own.dev === device) return walk(folder);
  const fs = await fileSystemStats(folder);
  return { fs, usedBytes: fs.usedBytes, inodesUsed: fs.inodesUsed };
}
