import { mkdir, open, readdir, readlink, rmdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../../system/make-folder.ts';
import { placeOf } from '../../../system/files/open-place.ts';
import { ifThere } from '../../../system/system-errors.ts';
import { bindMount, unmountBelow } from './mounter.ts';
import { PRIVATE_FOLDER_MODE } from './pod-paths.ts';
import { openInVolume } from './safe-open.ts';

/** The file below the mount: only the agent has access to it. */
const TARGET_FILE_MODE = 0o640;

/**
 * Mounts a part of a volume on `target`, which no container can change. A path into the volume itself could lead elsewhere by the
 * time the runtime mounts it. An earlier mount of the same part stays. Resolves to `target`.
 */
export async function bindSubPath(volume: string, names: readonly string[], target: string): Promise<string> {
  const source = await openInVolume(volume, names);
  try {
    if (!(await isMountedOn(target, source))) await bind(source, target);
    return target;
  } finally {
    await source.close();
  }
}

/**
 * The path of a part of a volume, for an agent that may not mount. It may lead elsewhere by the time it is mounted: to what the container
 * can reach anyway, as it has the user and the files of the agent.
 */
export async function pathInVolume(volume: string, names: readonly string[]): Promise<string> {
  const source = await openInVolume(volume, names);
  try {
    return await readlink(placeOf(source));
  } finally {
    await source.close();
  }
}

async function isMountedOn(target: string, source: FileHandle): Promise<boolean> {
  const found = await ifThere(stat(target, { bigint: true }));
  if (found === undefined) return false;
  const { dev, ino } = await source.stat({ bigint: true });
  return found.dev === dev && found.ino === ino;
}

async function bind(source: FileHandle, target: string): Promise<void> {
  if (await ifThere(stat(target))) {
    await unmountBelow(target);
    await removeTarget(target);
  }
  await makeFolder(dirname(target), PRIVATE_FOLDER_MODE);
  if ((await source.stat()).isDirectory()) await mkdir(target, PRIVATE_FOLDER_MODE);
  else await (await open(target, 'wx', TARGET_FILE_MODE)).close();
  await bindMount(placeOf(source), target);
}

/** Removes only an empty folder or a file. Rejects where something is still mounted on it. */
async function removeTarget(target: string): Promise<void> {
  const isFolder = (await stat(target)).isDirectory();
  await (isFolder ? rmdir(target) : unlink(target));
}

/** Removes the mount points of sub-paths: `<volume>/<container>/<index>`. */
export async function removeSubPaths(subPathsDir: string): Promise<void> {
  for (const volume of await foldersIn(subPathsDir)) {
    for (const container of await foldersIn(volume)) {
      for (const target of await foldersIn(container)) await removeTarget(target);
    }
  }
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const names = (await ifThere(readdir(folder))) ?? [];
  return names.map((name) => join(folder, name));
}
