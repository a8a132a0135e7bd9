/** Opens paths inside a volume while a container may be changing them. */
import { constants } from 'node:fs';
import { mkdir, open, realpath, type FileHandle } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { namesOf } from '../../policies/volumes/projected-files.ts';
import { isWithin } from '../../policies/formats/mountinfo.ts';
import { StateletError } from '../../../types/errors.ts';
import { readOpenedFile } from '../../../system/files/foreign-file.ts';
import { changeMode, O_PATH, placeOf } from '../../../system/files/open-place.ts';
import { ifThere } from '../../../system/system-errors.ts';

const MODE_BITS = 0o7777;

/**
 * Opens the path of `names` below `volume`. Symbolic links are followed within the volume. Missing folders are made, with the
 * mode of the volume's root. Rejects where the path leads out of the volume, or a part of it becomes a link meanwhile. The handle
 * (O_PATH) cannot be read; the caller closes it.
 */
export async function openInVolume(volume: string, names: readonly string[]): Promise<FileHandle> {
  const root = await realpath(volume);
  const { existing, missing } = await existingPart(root, names);
  return descend(root, existing, missing);
}

/**
 * As `openInVolume`, of what is there: undefined where it is not, and nothing is made. Rejects with `FailedPrecondition` where the path leads
 * out of the volume.
 */
export async function placeInVolume(
  volume: string,
  names: readonly string[],
): Promise<FileHandle | undefined> {
  const root = await realpath(volume);
  const { existing, missing } = await existingPart(root, names);
  return missing.length > 0 ? undefined : descend(root, existing, []);
}

/** The text of a file below `volume`, found as by `openInVolume`. Rejects where the file is missing or is not a plain file. */
export async function readInVolume(
  volume: string,
  names: readonly string[],
  bytesMax: number,
): Promise<string> {
  const place = await placeInVolume(volume, names);
  if (place === undefined) throw new StateletError('NotFound', 'no such file');
  try {
    return (await readOpenedFile(place, { bytesMax })).content.toString();
  } finally {
    await place.close();
  }
}

async function descend(root: string, existing: string, missing: readonly string[]): Promise<FileHandle> {
  if (!isWithin(root, existing)) {
    throw new StateletError('FailedPrecondition', `${existing} is outside of the volume ${root}`);
  }
  let handle = await open(root, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const mode = missing.length === 0 ? 0 : (await handle.stat()).mode & MODE_BITS;
  for (const name of namesOf(relative(root, existing))) handle = await stepInto(handle, name);
  for (const name of missing) handle = await stepInto(handle, name, mode);
  return handle;
}

/** The part of the path that exists, without symbolic links, and the names that are missing. A link that leads nowhere is missing. */
async function existingPart(
  root: string,
  names: readonly string[],
): Promise<{ existing: string; missing: readonly string[] }> {
  for (let count = names.length; count > 0; count--) {
    const existing = await ifThere(realpath(join(root, ...names.slice(0, count))));
    if (existing !== undefined) return { existing, missing: names.slice(count) };
  }
  return { existing: root, missing: names };
}

/** Opens `name` in `from`, and closes `from`. With `newFolderMode` it makes a folder of that mode; the name must be free. */
async function stepInto(from: FileHandle, name: string, newFolderMode?: number): Promise<FileHandle> {
  try {
    const path = join(placeOf(from), name);
    if (newFolderMode !== undefined) await mkdir(path);
    const entry = await open(path, O_PATH | constants.O_NOFOLLOW);
    try {
      if ((await entry.stat()).isSymbolicLink()) {
        throw new StateletError('FailedPrecondition', `${name} has become a symbolic link`);
      }
      if (newFolderMode !== undefined) await changeMode(entry, newFolderMode);
      return entry;
    } catch (error) {
      await entry.close();
      throw error;
    }
  } finally {
    await from.close();
  }
}
