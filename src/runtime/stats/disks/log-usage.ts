/** What the logs of pods use of the disk. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder } from '../../../policies/cri/cri-labels.ts';
import { eachOf } from '../../../system/promises.ts';
import { inFolder, placeOf } from '../../../system/files/open-place.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { type DiskUsed, NOTHING_USED, sumOf } from './disk-walk.ts';

const BLOCK_BYTES = 512;
const PODS_AT_ONCE = 8;
/** Rotation leaves a few files for each instance of a container. Beyond this, files are not counted. */
const FILES_MAX = 1000;

/** By the container's name, including rotated logs and those of former instances. */
export type LogsUsed = ReadonlyMap<string, DiskUsed>;

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
