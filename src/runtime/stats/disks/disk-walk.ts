import { lstat, opendir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const BLOCK_BYTES = 512;
/** After so many files the walk rests: so much longer than they took. */
const FILES_PER_STRIDE = 256;
const REST_FACTOR = 4;

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
 * How fast walks may go, one after the other: a fifth of the time at most is spent on them, so that neither the processor nor
 * a slow disk is kept from those who have work for it.
 */
export class Pace {
  readonly #signal: AbortSignal;
  #files = 0;
  /** Since the last rest, the walk under way not included. */
  #busyMs = 0;
  #resumedMs = 0;
  #deadlineMs = Infinity;
  /** Not everything was looked at: what was found is less than there is. */
  isOver = false;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get isGivenUp(): boolean {
    return this.#signal.aborted;
  }

  /** Walks that may take so long together, rests included. Resolves to what they do, and rejects once the signal says so. */
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

  /** Before each file. */
  async step(): Promise<void> {
    this.#files += 1;
    if (this.#files % FILES_PER_STRIDE !== 0) return;
    this.#signal.throwIfAborted();
    const nowMs = performance.now();
    this.isOver = nowMs > this.#deadlineMs;
    const restMs = (this.#busyMs + nowMs - this.#resumedMs) * REST_FACTOR;
    if (!this.isOver) await delay(restMs, undefined, { signal: this.#signal, ref: false });
    this.#busyMs = 0;
    this.#resumedMs = performance.now();
  }
}

/**
 * What a folder and all below it take of the file system that the folder is on, as `du` counts it: blocks, and a file of
 * several names once. What cannot be looked at counts nothing, as what is removed meanwhile does.
 */
export async function diskUsed(folder: string, pace: Pace): Promise<DiskUsed> {
  const top = await statOf(folder);
  if (top === undefined) return NOTHING_USED;
  const walk = new Walk(top.dev, pace);
  walk.count(top);
  const folders = top.isDirectory() ? [folder] : [];
  for (let next = folders.pop(); next !== undefined && !pace.isOver; next = folders.pop()) {
    folders.push(...(await walk.into(next)));
  }
  return walk.used;
}

class Walk {
  readonly #device: number;
  readonly #pace: Pace;
  /** Inodes of files that have several names. */
  readonly #linked = new Set<number>();
  used: DiskUsed = NOTHING_USED;

  constructor(device: number, pace: Pace) {
    this.#device = device;
    this.#pace = pace;
  }

  count(stats: Stats): void {
    const isLinked = stats.nlink > 1 && !stats.isDirectory();
    if (isLinked && this.#linked.has(stats.ino)) return;
    if (isLinked) this.#linked.add(stats.ino);
    this.used = sumOf([this.used, { usedBytes: stats.blocks * BLOCK_BYTES, inodesUsed: 1 }]);
  }

  /** Counts what is in the folder; the folders below it, which are still to be looked into. */
  async into(folder: string): Promise<string[]> {
    const below: string[] = [];
    try {
      // Read bit by bit: nobody knows how many files somebody has put there.
      for await (const { name } of await opendir(folder)) {
        await this.#pace.step();
        if (this.#pace.isOver) break;
        const path = join(folder, name);
        const stats = await statOf(path);
        if (stats?.dev !== this.#device) continue;
        this.count(stats);
        if (stats.isDirectory()) below.push(path);
      }
    } catch (error) {
      // What cannot be looked into counts nothing; being told to stop is no such thing.
      if (this.#pace.isGivenUp) throw error;
    }
    return below;
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined;
  }
}
