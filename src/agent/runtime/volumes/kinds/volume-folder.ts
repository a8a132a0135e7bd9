import { rename, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../../../../system/make-folder.ts';
import type { MemoryFilesystem } from '../../../policies/volumes/empty-dir.ts';
import { volumeRootMode } from '../../../policies/volumes/volume-ownership.ts';
import { errorMessage } from '../../../../types/errors.ts';
import type { Logger } from '../../../../types/logger.ts';
import {
  changeMode,
  changeOwner,
  inFolder,
  type Opened,
  withRealPath,
} from '../../../../system/files/open-place.ts';
import { ifThere } from '../../../../system/system-errors.ts';
import { hasFilesystem, mountFilesystem } from '../mounter.ts';
import { PLUGIN_FOLDER_MODE, PRIVATE_FOLDER_MODE } from '../pod-paths.ts';

/** The group that a volume's files are given to, and the user where it is not the agent's. */
export interface Ownership {
  readonly fsGroup: number | undefined;
  readonly owner?: number | undefined;
  readonly logger: Logger;
}

/** Sets the owner first: a change of owner may clear bits of the mode. */
export async function setOwnership(
  opened: Opened,
  mode: number,
  { fsGroup, owner, logger }: Ownership,
): Promise<void> {
  if (fsGroup !== undefined || owner !== undefined) {
    // As with the kubelet, the pod starts even if the agent may not change owners or the filesystem has none.
    await changeOwner(opened, { uid: owner, gid: fsGroup }).catch((error: unknown) => {
      const problem = errorMessage(withRealPath(error));
      logger.warn({ fsGroup, owner }, `cannot give a volume to its owner: ${problem}`);
    });
  }
  await changeMode(opened, mode);
}

/**
 * The root of a volume, on the disk. It is renamed to its name once mode and group are set. So a folder of that name is complete, even
 * if an agent was killed while making one, and is not touched again: a container may have changed it. Resolves to whether the folder
 * is new, and so empty.
 */
export async function makeVolumeFolder(folder: string, ownership: Ownership): Promise<boolean> {
  // In a folder that was made just now there is nothing to look for: at a pod's start each system call costs time.
  const isFirst = await makePluginFolder(folder);
  if (!isFirst && (await ifThere(stat(folder))) !== undefined) return false;
  const draft = join(dirname(folder), `.${basename(folder)}`);
  await makeFolder(draft, PRIVATE_FOLDER_MODE);
  await inFolder(draft, (opened) => setOwnership(opened, volumeRootMode(ownership.fsGroup), ownership));
  await rename(draft, folder);
  return true;
}

/** The root of a volume that is a filesystem. The mount sets mode and group. */
export async function mountVolumeFolder(folder: string, filesystem: MemoryFilesystem): Promise<void> {
  await makeMountPoint(folder);
  if (!(await hasFilesystem(folder))) await mountFilesystem(filesystem, folder);
}

/** The empty folder on which a volume is mounted: only the agent has access while nothing is. */
export async function makeMountPoint(folder: string): Promise<void> {
  await makePluginFolder(folder);
  await makeFolder(folder, PRIVATE_FOLDER_MODE);
}

/**
 * Makes the folder in which the volume lies. Only the agent has access: the folders above it are closed to others. Resolves to whether
 * it was not there.
 */
async function makePluginFolder(volume: string): Promise<boolean> {
  const folder = dirname(volume);
  await makeFolder(dirname(folder), PRIVATE_FOLDER_MODE);
  return makeFolder(folder, PLUGIN_FOLDER_MODE);
}
