/** Tells by what the file system says of a file, without reading it, whether it may have changed. */
import type { BigIntStats } from 'node:fs';

/**
 * A file that is written to twice within a tick of its file system's clock has the same times after both. The tick is some
 * milliseconds on most file systems and 2 s on FAT; a server of files may have a clock that is a little behind.
 */
const SETTLED_AFTER_MS = 5_000n;

/**
 * Differs from all earlier versions of the file, and from those of another file that took its place. Undefined where the file was
 * changed so shortly before it was looked at (Unix milliseconds), or in the future, that a later change might not show.
 */
export function fileVersion(stats: BigIntStats, lookedAt: number): string | undefined {
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
  const changedAt = mtimeMs > ctimeMs ? mtimeMs : ctimeMs;
  if (BigInt(Math.floor(lookedAt)) - changedAt < SETTLED_AFTER_MS) return undefined;
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}
