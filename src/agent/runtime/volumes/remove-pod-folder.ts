/** Removes the folder of a pod with its volumes, also one that an agent with another runtime has made. */
// oxlint-disable-next-line no-restricted-imports -- reads files of the kernel
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pluginFolder } from '../../policies/volumes/volume-source.ts';
import { StateletError } from '../../../types/errors.ts';
import type { CsiMounts } from './kinds/volume-kind.ts';
import type { PodPaths } from './pod-paths.ts';
import { machineDisk, type VolumeDisk } from './volume-disk.ts';

interface VolumeRemoval {
  readonly disk: VolumeDisk;
  readonly csi: CsiMounts | undefined;
}

/** Unmounts everything below the folder and removes it. Rejects if something stays mounted, and removes no files there. */
export async function removePodFolder(uid: string, paths: PodPaths, parts: VolumeRemoval): Promise<void> {
  await tearDown(uid, paths, parts);
  await parts.disk.removeTree(paths.podDir);
}

/** The same for its volumes alone: other files of the pod stay. */
export async function removeVolumes(uid: string, paths: PodPaths, parts: VolumeRemoval): Promise<void> {
  await tearDown(uid, paths, parts);
  await parts.disk.removeTree(paths.volumesDir);
}

/** CSI drivers unmount their volumes themselves. */
async function tearDown(uid: string, paths: PodPaths, { disk, csi }: VolumeRemoval): Promise<void> {
  const csiDirs = [paths.volumesDir, paths.devicesDir].map((dir) => join(dir, pluginFolder('csi')));
  const [csiDir = ''] = csiDirs;
  const hasVolumes = (await Promise.all(csiDirs.map((dir) => disk.names(dir)))).flat().length > 0;
  if (hasVolumes && csi === undefined) {
    const message = `${csiDir} has volumes of CSI drivers, which only an agent in a cluster with a runtime of CRI can remove`;
    throw new StateletError('FailedPrecondition', message);
  }
  if (hasVolumes) await disk.unmountBelow(paths.subPathsDir);
  await csi?.unmount(uid, paths);
  await unmapLocalDevices(disk, paths);
  await disk.unmountBelow(paths.podDir);
  await disk.tearDownVolumes(paths);
  if (paths.memoryDir !== undefined) await disk.removeTree(paths.memoryDir);
}

async function unmapLocalDevices(disk: VolumeDisk, paths: PodPaths): Promise<void> {
  for (const name of await disk.names(join(paths.devicesDir, pluginFolder('local')))) {
    const device = paths.device('local', name);
    await disk.unmapDevice(device);
    await disk.unlinkDevice(device);
  }
}

/**
 * The same for a pod that this agent's runtime does not know. Also rejects if containers of another runtime have files of the
 * folder mounted, since they may still run.
 */
export async function removeForeignPodFolder(uid: string, paths: PodPaths, proc = '/proc'): Promise<void> {
  await refuseUsedFolder(uid, paths, proc);
  await removePodFolder(uid, paths, { disk: machineDisk, csi: undefined });
}

/** Rejects where a process has files of the pod's folder mounted in a mount namespace of its own. */
export async function refuseUsedFolder(
  uid: string,
  { podDir }: Pick<PodPaths, 'podDir'>,
  proc = '/proc',
): Promise<void> {
  const user = await processWithMounts([`/pods/${uid}/`], proc);
  if (user === undefined) return;
  const message = `process ${user.pid}, of a container that another runtime has started, uses files of ${podDir}`;
  throw new StateletError('FailedPrecondition', message);
}

/** A process that has a path with one of these parts mounted in a mount namespace of its own. */
export async function processWithMounts(
  parts: readonly string[],
  proc = '/proc',
): Promise<{ readonly pid: string; readonly part: string } | undefined> {
  const seen = new Set([await readlink(`${proc}/self/ns/mnt`).catch(() => '')]);
  for (const pid of (await readdir(proc)).filter((name) => /^\d+$/.test(name))) {
    // The process may have ended, or may belong to another user.
    const namespace = await readlink(`${proc}/${pid}/ns/mnt`).catch(() => undefined);
    if (namespace === undefined || seen.has(namespace)) continue;
    seen.add(namespace);
    const table = await readFile(`${proc}/${pid}/mountinfo`, 'utf8').catch(() => '');
    const mounted = table.split('\n').map((line) => line.split(' ')[ROOT] ?? '');
    const part = parts.find((one) => mounted.some((root) => root.includes(one)));
    if (part !== undefined) return { pid, part };
  }
  return undefined;
}

/** The field with the path of what is mounted within its file system. */
const ROOT = 3;
