/** Tells from a file's metadata, without reading its content, whether it may have changed. */
import type { BigIntStats } from 'node:fs';

/**
 * Two writes within one tick of the file system's clock leave the same times. The tick is some milliseconds on most file
 * systems and 2 s on FAT; the clock of a network file system may be a little slow.
 */
const SETTLED_AFTER_MS = 5_000n;

/**
 * A text that differs between all versions of the file, and from all versions of a file that replaces it. Undefined when the
 * last change is so close to `statAt` (Unix milliseconds), or so far in the future, that a later change might not show.
 */
export function fileVersion(stats: BigIntStats, statAt: number): string | undefined {
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
  const changedAt = mtimeMs > ctimeMs ? mtimeMs : ctimeMs;
  if (BigInt(Math.floor(statAt)) - changedAt < SETTLED_AFTER_MS) return undefined;
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}
