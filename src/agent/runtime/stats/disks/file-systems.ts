import { stat, statfs } from 'node:fs/promises';
import type { FsStats } from '../../../../types/stats.ts';

/** The figures of the file system that holds the path. `availableBytes` is for users other than root. */
export async function fileSystemStats(path: string): Promise<Required<FsStats>> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    time: new Date().toISOString(),
    availableBytes: bavail * bsize,
    capacityBytes: blocks * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodesFree: ffree,
    inodes: files,
    inodesUsed: files - ffree,
  };
}

export async function isSameFileSystem(path: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([stat(path), stat(other)]);
  return one.dev === two.dev;
}
