import { constants, type Stats } from 'node:fs';
import { chmod, lchown, lstat, open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  groupChanges,
  needsChanges,
  type FileFacts,
} from '../../../policies/volumes/claims/group-permissions.ts';
import { errorMessage } from '../../../types/errors.ts';
import { placeOf } from '../safe-open.ts';

/** Linux' O_PATH opens a place in the tree, not its content. */
const O_PATH = 0o10_000_000;
const MODE_BITS = 0o7777;
/** How many files are changed at the same time. */
const BATCH = 64;

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
  await walk.folder(root, stats);
  return walk.problem;
}

class GroupWalk {
  readonly #request: GroupRequest;
  readonly #device: number;
  readonly #signal: AbortSignal;
  problem: GroupProblem | undefined;

  constructor(request: GroupRequest, device: number, signal: AbortSignal) {
    this.#request = request;
    this.#device = device;
    this.#signal = signal;
  }

  async folder(path: string, stats: Stats): Promise<void> {
    const folders: [string, Stats][] = [];
    let batch: Promise<void>[] = [];
    for await (const { name } of await opendir(path)) {
      batch.push(this.#entry(join(path, name), folders));
      if (batch.length < BATCH) continue;
      await Promise.all(batch);
      batch = [];
    }
    await Promise.all(batch);
    for (const [inner, innerStats] of folders) await this.folder(inner, innerStats);
    await this.#change(path, stats);
  }

  /** Changes a file, and remembers a folder. */
  async #entry(path: string, folders: [string, Stats][]): Promise<void> {
    this.#signal.throwIfAborted();
    const stats = await lstat(path);
    if (stats.dev !== this.#device) return;
    if (stats.isDirectory()) folders.push([path, stats]);
    else await this.#change(path, stats);
  }

  async #change(path: string, stats: Stats): Promise<void> {
    const { gid, mode } = groupChanges(factsOf(stats), this.#request.fsGroup);
    try {
      // First the group: a change of it may clear bits of the mode.
      if (gid !== undefined) await lchown(path, stats.uid, gid);
      if (mode !== undefined || (gid !== undefined && !stats.isSymbolicLink()))
        await setMode(path, mode ?? stats.mode & MODE_BITS);
    } catch (error) {
      const { problem = errorMessage(error), path: first = path, count = 0 } = this.problem ?? {};
      this.problem = { path: first, problem, count: count + 1 };
    }
    this.#request.onFile();
  }
}

/** Not by its path: what has become a link meanwhile may lead out of the volume. */
async function setMode(path: string, mode: number): Promise<void> {
  const handle = await open(path, O_PATH | constants.O_NOFOLLOW);
  try {
    await chmod(placeOf(handle), mode);
  } finally {
    await handle.close();
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
