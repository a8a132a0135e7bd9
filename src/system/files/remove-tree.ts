/**
 * Removes a tree of files while others may be changing it. Node's own recursive removals do not serve for that: they walk by paths, and
 * follow a folder that has just been replaced by a link (before Node 24 `rmSync` too), so that root could be led to remove any file.
 */
import { closeSync, constants, type Dirent, fstatSync, open, openSync, readSync, rmSync } from 'node:fs';
import { rmdir, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { errnoCode, ifThere } from '../system-errors.ts';
import { type FolderVisitor, folderAt, walkFolder } from './folder-walk.ts';
import { changeMode, changeOwner, O_PATH, type Opened, placeIn, withRealPath } from './open-place.ts';

/** As many as Node has threads for files. */
const FILES_AT_A_TIME = 4;
const FOLDERS_AT_A_TIME = 8;
/** Of one folder. The names of more are not kept in memory: the next pass removes them. */
const FOLDERS_A_PASS = 10_000;
/** A process that goes on making files must not keep the agent busy for ever. */
const PASSES_MAX = 100;
const OWN_FOLDER_MODE = 0o700;
const INFO = Buffer.alloc(512);

/**
 * Removes the file or folder at the path. The folder that it is in must not be another's to change. No error where there is none. Links
 * are removed and never followed. What is mounted in it is not touched. Rejects with the system's error where something stays, which is
 * EBUSY for a mount point. The event loop goes on, however large and deep the tree is.
 */
export async function removeTree(path: string): Promise<void> {
  const fd = await ifThere(promisify(open)(dirname(path), O_PATH | constants.O_DIRECTORY));
  if (fd === undefined) return;
  try {
    await removeIn({ fd }, Buffer.from(basename(path)).toString('latin1'));
  } finally {
    closeSync(fd);
  }
}

/** As `removeTree`, by a name in an open folder. The name has one character per byte. */
export async function removeIn(folder: Opened, name: string): Promise<void> {
  const place = placeIn(folder, name);
  let isTakenOver = false;
  for (let passes = 1; ; passes++) {
    const pass = new Pass(mountOf(folder), isTakenOver);
    if (await pass.remove(place)) return;
    // What is left was made meanwhile, or lies in a folder that its owner has closed: the next pass closes folders to other users.
    if (passes === PASSES_MAX || (isTakenOver && pass.removed === 0)) throw pass.problem;
    isTakenOver = true;
  }
}

/**
 * Removes whatever stands at the path, at once. Only for few files, of folders to which no pod has access: it may follow what becomes a
 * link meanwhile.
 */
export function removePrivateSync(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** One walk through the tree. It goes on after a failure. */
class Pass implements FolderVisitor {
  readonly entriesAtATime = FILES_AT_A_TIME;
  readonly foldersAtATime = FOLDERS_AT_A_TIME;
  readonly foldersMax = FOLDERS_A_PASS;
  readonly #mount: string;
  readonly #takesOver: boolean;
  removed = 0;
  /** The first one. */
  problem: unknown;

  constructor(mount: string, takesOver: boolean) {
    this.#mount = mount;
    this.#takesOver = takesOver;
  }

  /** Resolves to whether nothing is left. */
  async remove(place: Buffer): Promise<boolean> {
    const folder = await folderAt(place);
    if (folder === undefined) return (await this.#removed(place, unlink)) === undefined;
    try {
      await walkFolder(folder, this);
    } finally {
      closeSync(folder.fd);
    }
    return (await this.#removed(place, rmdir)) === undefined;
  }

  async entry(place: Buffer, entry: Dirent): Promise<boolean> {
    // It may have become a folder since its name was read.
    return entry.isDirectory() || (await this.#removed(place, unlink)) === 'EISDIR';
  }

  async enters(folder: Opened): Promise<boolean> {
    if (mountOf(folder) !== this.#mount) return false;
    if (this.#takesOver) await takeOver(folder);
    return true;
  }

  async left(place: Buffer): Promise<void> {
    await this.#removed(place, rmdir);
  }

  unreadable(error: unknown): void {
    this.problem ??= withRealPath(error);
  }

  /** The code of the failure, if it failed. */
  async #removed(place: Buffer, remove: (path: Buffer) => Promise<void>): Promise<string | undefined> {
    try {
      await remove(place);
      this.removed++;
    } catch (error) {
      const code = errnoCode(error);
      if (code === 'ENOENT') return undefined;
      this.problem ??= withRealPath(error);
      return code;
    }
    return undefined;
  }
}

/** From now on no other user can change the folder: not even its owner, where this process may change owners. */
async function takeOver(folder: Opened): Promise<void> {
  if (process.geteuid?.() === 0) await changeOwner(folder, { uid: 0, gid: 0 }).catch(() => undefined);
  await changeMode(folder, OWN_FOLDER_MODE).catch(() => undefined);
}

/** Tells mounts apart by their number: a bind mount has the device of what is mounted. */
function mountOf({ fd }: Opened): string {
  const info = openSync(`/proc/self/fdinfo/${fd}`, 'r');
  try {
    // For each folder, and from memory: by a thread it would take ten times as long.
    const length = readSync(info, INFO);
    const number = /^mnt_id:\s*(\d+)$/m.exec(INFO.toString('latin1', 0, length))?.[1];
    return number ?? `device ${fstatSync(fd).dev}`;
  } finally {
    closeSync(info);
  }
}
