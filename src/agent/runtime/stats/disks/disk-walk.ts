import { closeSync, type Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { folderAt, type FolderVisitor, walkFolder } from '../../../../system/files/folder-walk.ts';
import type { Opened } from '../../../../system/files/open-place.ts';

const BLOCK_BYTES = 512;
/** After so many files the walk pauses, for so many times as long as they took. */
const FILES_PER_STRIDE = 256;
const PAUSE_FACTOR = 4;

export interface DiskUsed {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export const NOTHING_USED: DiskUsed = { usedBytes: 0, inodesUsed: 0 };

export function sumOf(parts: readonly DiskUsed[]): DiskUsed {
  return parts.reduce(
    (sum, { usedBytes, inodesUsed }) => ({
      usedBytes: sum.usedBytes + usedBytes,
      inodesUsed: sum.inodesUsed + inodesUsed,
    }),
    NOTHING_USED,
  );
}

/**
 * Limits the speed of walks, which go one after the other: they take at most a fifth of the time, so that CPU and disk are
 * free for other work.
 */
export class Pace {
  readonly #signal: AbortSignal;
  #files = 0;
  /** Time since the last pause, without the present walk. */
  #busyMs = 0;
  #resumedMs = 0;
  #deadlineMs = Infinity;
  /** The time was over before all files were counted. */
  isOver = false;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get isAborted(): boolean {
    return this.#signal.aborted;
  }

  /** Runs walks that may take `limitMs` together, pauses included. Rejects when the signal aborts. */
  async within<T>(limitMs: number, walk: () => Promise<T>): Promise<T> {
    this.#resumedMs = performance.now();
    this.#deadlineMs = this.#resumedMs + limitMs;
    this.isOver = false;
    try {
      return await walk();
    } finally {
      this.#busyMs += performance.now() - this.#resumedMs;
    }
  }

  /** Called before each file. */
  async step(): Promise<void> {
    this.#files += 1;
    if (this.#files % FILES_PER_STRIDE !== 0) return;
    this.#signal.throwIfAborted();
    const nowMs = performance.now();
    this.isOver = nowMs > this.#deadlineMs;
    const pauseMs = (this.#busyMs + nowMs - this.#resumedMs) * PAUSE_FACTOR;
    if (!this.isOver) await delay(pauseMs, undefined, { signal: this.#signal, ref: false });
    this.#busyMs = 0;
    this.#resumedMs = performance.now();
  }
}

/**
 * What a folder and everything below it use of the folder's file system, counted as by `du`: in blocks, and a file with
 * several names once. Files that cannot be read or are removed meanwhile count nothing. No link is followed, also none that takes the
 * place of a folder meanwhile.
 */
export async function diskUsed(folder: string, pace: Pace): Promise<DiskUsed> {
  const top = await statOf(folder);
  if (top === undefined) return NOTHING_USED;
  const count = new Count(top.dev, pace);
  count.add(top);
  const opened = top.isDirectory() ? await folderAt(folder).catch(() => undefined) : undefined;
  if (opened === undefined) return count.used;
  try {
    await walkFolder(opened, count);
  } finally {
    closeSync(opened.fd);
  }
  return count.used;
}

class Count implements FolderVisitor {
  readonly entriesAtATime = 1;
  readonly foldersAtATime = 1;
  readonly #device: number;
  readonly #pace: Pace;
  /** The inodes of files with several names. */
  readonly #linked = new Set<number>();
  used: DiskUsed = NOTHING_USED;

  constructor(device: number, pace: Pace) {
    this.#device = device;
    this.#pace = pace;
  }

  get isOver(): boolean {
    return this.#pace.isOver;
  }

  add(stats: Stats): void {
    const isLinked = stats.nlink > 1 && !stats.isDirectory();
    if (isLinked && this.#linked.has(stats.ino)) return;
    if (isLinked) this.#linked.add(stats.ino);
    this.used = sumOf([this.used, { usedBytes: stats.blocks * BLOCK_BYTES, inodesUsed: 1 }]);
  }

  async entry(place: Buffer): Promise<boolean> {
    await this.#pace.step();
    const stats = this.isOver ? undefined : await statOf(place);
    if (stats?.dev !== this.#device) return false;
    this.add(stats);
    return stats.isDirectory();
  }

  enters(_: Opened, { dev }: Stats): boolean {
    return dev === this.#device;
  }

  /** A folder that cannot be read counts nothing. An abort is passed on. */
  unreadable(error: unknown): void {
    if (this.#pace.isAborted) throw error;
  }
}

async function statOf(path: string | Buffer): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined;
  }
}
