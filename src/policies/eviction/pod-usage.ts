/** How much a pod uses of the resource that is short. */
import type { Pod } from '../../types/kubernetes.ts';
import type { ContainerStats, FsStats, PodStats, Summary } from '../../types/stats.ts';
import type { PodFsPart } from './file-system-parts.ts';
import type { StarvedResource } from './signals.ts';
import { named } from '../formats/lookups.ts';

type StatsByUID = ReadonlyMap<string, PodStats>;

export function statsByUID({ pods }: Summary): StatsByUID {
  return new Map(pods.map((stats) => [stats.podRef.uid, stats]));
}

/** Bytes, inodes, processes, or bytes per second. On disks only `parts` count. What is not measured counts as 0. */
export function podUsage(
  pod: Pod,
  stats: PodStats,
  resource: StarvedResource,
  parts: readonly PodFsPart[],
): number {
  switch (resource) {
    case 'memory':
      return stats.memory?.workingSetBytes ?? 0;
    case 'pids':
      return stats.process_stats?.process_count ?? 0;
    case 'io':
      return stats.io?.bytesPerSecond ?? 0;
    default:
      return diskUsage(pod, stats, parts, resource === 'inodes' ? usedInodes : usedBytes);
  }
}

type Measure = (stats: FsStats | undefined) => number;

export function usedBytes(stats: FsStats | undefined): number {
  return stats?.usedBytes ?? 0;
}

function usedInodes(stats: FsStats | undefined): number {
  return stats?.inodesUsed ?? 0;
}

function diskUsage(pod: Pod, stats: PodStats, parts: readonly PodFsPart[], used: Measure): number {
  let sum = 0;
  for (const container of stats.containers ?? []) sum += containerUsage(container, parts, used);
  if (!parts.includes('localVolumeSource')) return sum;
  for (const volume of pod.spec.volumes ?? [])
    if (isLocal(volume)) sum += used(named(stats.volume ?? [], volume.name));
  return sum;
}

function containerUsage(
  { rootfs, logs }: ContainerStats,
  parts: readonly PodFsPart[],
  used: Measure,
): number {
  return (parts.includes('root') ? used(rootfs) : 0) + (parts.includes('logs') ? used(logs) : 0);
}

type Volume = NonNullable<Pod['spec']['volumes']>[number];

/** Whether the volume lies on a disk of the node. */
function isLocal(volume: Volume): boolean {
  const { hostPath, emptyDir, configMap, secret, downwardAPI, gitRepo } = volume;
  if (emptyDir && emptyDir.medium !== 'Memory') return true;
  return [hostPath, configMap, secret, downwardAPI, gitRepo].some((source) => source != null);
}
