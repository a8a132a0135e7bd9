import { statfs } from 'node:fs/promises';
import type { DiskSpace } from '../../policies/image-gc.ts';

/** Of the filesystem that holds that path; available is what is left for those who are not root. */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const { bsize, blocks, bavail } = await statfs(path);
  return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
}
