import { constants, type Stats } from 'node:fs';
import { lchown, lstat, open } from 'node:fs/promises';
import { groupChanges, needsChanges, type FileFacts } from '../../../policies/volumes/volume-ownership.ts';
import { errorMessage } from '../../../../types/errors.ts';
import { type FolderVisitor, walkFolder } from '../../../../system/files/folder-walk.ts';
import {
  changeMode,
  changeOwner,
  inFolder,
  O_PATH,
  type Opened,
  placeOf,
  withRealPath,
  withRealPaths,
} from '../../../../system/files/open-place.ts';
import { ifThere } from '../../../../system/system-errors.ts';

const MODE_BITS = 0o7777;

export interface GroupRequest {
  readonly fsGroup: number;
  /** `fsGroupChangePolicy` of the pod. */
  readonly changePolicy: string | undefined;
  /** Called for each file that has been looked at. */
  readonly onFile: () => void;
}

/** A file that could not be changed. As with the kubelet, the pod starts nevertheless. */
export interface GroupProblem {
  readonly path: string;
  readonly problem: string;
  /** How many files could not be changed. */
  readonly count: number;
}

/**
 * Gives all files below `root` to the group, on this file system only. The root comes last: where it is right, all is right. Resolves
 * with the first problem. Rejects where a folder cannot be read, and as soon as the signal aborts.
 */
export async function giveToGroup(
  root: string,
  request: GroupRequest,
  signal: AbortSignal,
): Promise<GroupProblem | undefined> {
  const stats = await lstat(root);
  if (!needsChanges(factsOf(stats), request.fsGroup, request.changePolicy)) return undefined;
  const walk = new GroupWalk(request, stats.dev, signal);
  await inFolder(root, (folder) => walkFolder(folder, walk));
  return walk.problem;
}

class GroupWalk implements FolderVisitor {
  readonly entriesAtATime = 8;
  readonly foldersAtATime = 4;
  readonly #request: GroupRequest;
  readonly #device: number;
  readonly #signal: AbortSignal;
  problem: GroupProblem | undefined;

  constructor(request: GroupRequest, device: number, signal: AbortSignal) {
    this.#request = request;
    this.#device = device;
    this.#signal = signal;
  }

  async entry(place: Buffer): Promise<boolean> {
    this.#signal.throwIfAborted();
    const stats = await ifThere(lstat(place));
    if (stats?.dev !== this.#device) return false;
    if (stats.isDirectory()) return true;
    await this.#change(place, stats, () => (stats.isSymbolicLink() ? this.#link(place) : this.#file(place)));
    return false;
  }

  enters(_: Opened, { dev }: Stats): boolean {
    return dev === this.#device;
  }

  async leaving(folder: Opened, stats: Stats): Promise<void> {
    if (stats.dev === this.#device)
      await this.#change(placeOf(folder), stats, () => this.#opened(folder, stats));
  }

  unreadable(error: unknown): void {
    throw withRealPath(error);
  }

  async #change(place: string | Buffer, stats: Stats, change: () => Promise<void>): Promise<void> {
    try {
      const { gid, mode } = groupChanges(factsOf(stats), this.#request.fsGroup);
      if (gid !== undefined || mode !== undefined) await change();
    } catch (error) {
      const path = withRealPaths(place.toString());
      const {
        problem = errorMessage(withRealPath(error)),
        path: first = path,
        count = 0,
      } = this.problem ?? {};
      this.problem = { path: first, problem, count: count + 1 };
    }
    this.#request.onFile();
  }

  /** The owner stays, whatever file has the name by now. */
  #link(place: Buffer): Promise<void> {
    return lchown(place, -1, this.#request.fsGroup);
  }

  /** Another file may have the name by now: what is changed follows from the file that is open. */
  async #file(place: Buffer): Promise<void> {
    const handle = await open(place, O_PATH | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat();
      if (stats.dev === this.#device && !stats.isSymbolicLink()) await this.#opened(handle, stats);
    } finally {
      await handle.close();
    }
  }

  async #opened(opened: Opened, stats: Stats): Promise<void> {
    const { gid, mode } = groupChanges(factsOf(stats), this.#request.fsGroup);
    // First the group: a change of it may clear bits of the mode.
    if (gid !== undefined) await changeOwner(opened, { gid });
    if (gid !== undefined || mode !== undefined) await changeMode(opened, mode ?? stats.mode & MODE_BITS);
  }
}

function factsOf(stats: Stats): FileFacts {
  return {
    gid: stats.gid,
    mode: stats.mode & MODE_BITS,
    isFolder: stats.isDirectory(),
    isLink: stats.isSymbolicLink(),
  };
}
