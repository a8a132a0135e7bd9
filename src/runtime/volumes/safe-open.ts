/**
 * Opens paths inside of a volume that a container may be changing at the same moment. Node has no `openat`, but a path
 * through `/proc/self/fd` starts at what is open, whatever has become of its name since.
 */
import { constants } from 'node:fs';
import { chmod, mkdir, open, readFile, realpath, type FileHandle } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { namesOf } from '../../policies/volumes/projected-files.ts';
import { isWithin } from '../../policies/volumes/mount-table.ts';
import { StateletError } from '../../types/errors.ts';
import { ifThere } from '../../system/system-errors.ts';

/** Linux' O_PATH: a place in the tree, not its content, so that opening a pipe or a device does nothing to it. */
const O_PATH = 0o10_000_000;
const MODE_BITS = 0o7777;

/**
 * Opens `names` below `volume`. Symbolic links count where they lead to within the volume; folders that are missing are
 * made, with the mode of the volume's root. Rejects where anything leads out of the volume, or becomes a link while it is
 * looked at. The handle is good for its place only, not for reading; whoever asks closes it.
 */
export async function openInVolume(volume: string, names: readonly string[]): Promise<FileHandle> {
  const root = await realpath(volume);
  const { existing, missing } = await existingPart(root, names);
  return descend(root, existing, missing);
}

/** The text of a file below `volume`, which `openInVolume` finds. Rejects where there is none, or it is no plain file. */
export async function readInVolume(
  volume: string,
  names: readonly string[],
  bytesMax: number,
): Promise<string> {
  const root = await realpath(volume);
  const { existing, missing } = await existingPart(root, names);
  if (missing.length > 0) throw new StateletError('NotFound', 'no such file');
  const place = await descend(root, existing, []);
  try {
    const stats = await place.stat();
    // What is no plain file might never come to an end.
    if (!stats.isFile()) throw new StateletError('FailedPrecondition', 'is not a file');
    if (stats.size > bytesMax) {
      throw new StateletError('FailedPrecondition', `is larger than ${bytesMax} bytes`);
    }
    return await readFile(placeOf(place), 'utf8');
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

/** How much of the path is there, and where that really is. A link that leads nowhere counts as missing. */
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

/** Closes `from`. With `newFolderMode` the name must be free, and becomes a folder of that mode. */
async function stepInto(from: FileHandle, name: string, newFolderMode?: number): Promise<FileHandle> {
  try {
    const path = join(placeOf(from), name);
    if (newFolderMode !== undefined) await mkdir(path);
    const entry = await open(path, O_PATH | constants.O_NOFOLLOW);
    try {
      if ((await entry.stat()).isSymbolicLink()) {
        throw new StateletError('FailedPrecondition', `${name} has become a symbolic link`);
      }
      if (newFolderMode !== undefined) await chmod(placeOf(entry), newFolderMode);
      return entry;
    } catch (error) {
      await entry.close();
      throw error;
    }
  } finally {
    await from.close();
  }
}

/** A path to what is open, for this process and for those that it starts. */
export function placeOf({ fd }: FileHandle): string {
  return `/proc/${process.pid}/fd/${fd}`;
}
