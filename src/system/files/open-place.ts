/**
 * Places in a tree of files that others may be changing. Node has no `openat`, but a path through `/proc/PID/fd` starts at the open file,
 * even if its name leads elsewhere by now. One name after that can be removed, made, renamed or looked at: none of these follows a link.
 */
import { closeSync, constants, open, readlinkSync } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorMessage } from '../../types/errors.ts';

/** Linux' O_PATH opens a place in the tree, not its content: opening a pipe or a device that way has no effect on it. */
export const O_PATH = 0o10_000_000;

/** An open file or folder, by its descriptor. */
export interface Opened {
  readonly fd: number;
}

/** A path to the open file, for this process and the processes that it starts. */
export function placeOf({ fd }: Opened): string {
  return `/proc/${process.pid}/fd/${fd}`;
}

/** A path to a name in an open folder. Names have one character per byte (latin1), since they need not be UTF-8. */
export function placeIn(folder: Opened, name: string): Buffer {
  return Buffer.from(`${placeOf(folder)}/${name}`, 'latin1');
}

/**
 * Rejects with ENOTDIR for whatever is no folder, a link to a folder too. The descriptor stands for the place and cannot be read. A
 * `FileHandle` would be closed by a thread, which takes as long as the rest of a visit. The caller closes it.
 */
export async function openFolder(path: string | Buffer): Promise<Opened> {
  return { fd: await promisify(open)(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW) };
}

/** Changes the mode of what is open, wherever its name leads by now. */
export function changeMode(opened: Opened, mode: number): Promise<void> {
  return chmod(placeOf(opened), mode);
}

/** Changes user and group of what is open, and leaves what is undefined as it is. */
export function changeOwner(
  opened: Opened,
  { uid = -1, gid = -1 }: { readonly uid?: number | undefined; readonly gid?: number | undefined },
): Promise<void> {
  return chown(placeOf(opened), uid, gid);
}

/** Does the work in an open folder, and closes it. */
export async function inFolder<T>(path: string | Buffer, work: (folder: Opened) => Promise<T>): Promise<T> {
  const folder = await openFolder(path);
  try {
    return await work(folder);
  } catch (error) {
    throw withRealPath(error);
  } finally {
    closeSync(folder.fd);
  }
}

/** The system's error, which names an open file by its number, names it by its path. The file must still be open. */
export function withRealPath(error: unknown): unknown {
  const message = errorMessage(error);
  const named = withRealPaths(message);
  return named === message ? error : Object.assign(error as object, { message: named });
}

/** The text with paths in place of the numbers of open files. */
export function withRealPaths(text: string): string {
  return text.replaceAll(/\/proc\/\d+\/fd\/\d+/g, realPath);
}

function realPath(place: string): string {
  try {
    return readlinkSync(place);
  } catch {
    return place;
  }
}
