/** The folders of a block device of a CSI driver, below `plugins/kubernetes.io/csi/volumeDevices`: the kubelet has the same. */
import { join } from 'node:path';
import { removeIfEmpty } from '../block-device.ts';
import type { VolumeDisk } from '../volume-disk.ts';
import { removeVolData } from './vol-data.ts';

/** In the folder of all drivers. */
export const BLOCK_FOLDER = 'volumeDevices';
const STAGING = 'staging';
const PUBLISH = 'publish';
/** Beside the folders of volumes. */
export const NO_VOLUMES: ReadonlySet<string> = new Set([STAGING, PUBLISH]);

/** The folder of all drivers. */
export function csiFolder(rootDir: string): string {
  return join(rootDir, 'plugins', 'kubernetes.io', 'csi');
}

/** `csiDir`: the folder of all drivers. `name`: of the PersistentVolume. */
export function blockPaths(csiDir: string, name: string) {
  const devicesDir = join(csiDir, BLOCK_FOLDER);
  const volumeDir = join(devicesDir, name);
  return {
    volumeDir,
    stagingPath: join(devicesDir, STAGING, name),
    /** The driver makes a file for each pod in it. */
    publishDir: join(devicesDir, PUBLISH, name),
    /** With `vol_data.json`, for all pods. */
    dataDir: join(volumeDir, 'data'),
  };
}

/**
 * Must be called when the volume is neither published nor staged and nothing is mounted. Files that the driver has left in the
 * folder of pods stay.
 */
export async function removeBlockFolders(
  disk: VolumeDisk,
  paths: ReturnType<typeof blockPaths>,
): Promise<void> {
  await disk.removeTree(paths.stagingPath);
  await removeVolData(disk, paths.dataDir);
  await removeEmptyBlockFolders(disk, paths);
}

/** Only empty folders are removed. The volume's folder goes last: by it an agent finds the others. */
export async function removeEmptyBlockFolders(
  disk: VolumeDisk,
  paths: ReturnType<typeof blockPaths>,
): Promise<void> {
  const { volumeDir, stagingPath, publishDir, dataDir } = paths;
  for (const folder of [stagingPath, publishDir, join(volumeDir, 'dev'), dataDir, volumeDir])
    await removeIfEmpty(folder, (empty) => disk.rmdir(empty));
}
