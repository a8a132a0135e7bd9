import { open, rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { openForeignFile } from '../../system/files/foreign-file.ts';
import { compressedLogNames } from '../../policies/garbage/log-rotation.ts';

/**
 * Replaces a rotated log by its gzip. Rejects with the system's error, or with that of `signal`; then the log is unchanged, and no
 * other file is left. A pod that has the folder of logs as a hostPath can lead neither the reading nor the writing elsewhere by a link.
 */
export async function compressLog(path: string, signal: AbortSignal): Promise<void> {
  const { temporary, final } = compressedLogNames(path);
  const log = await openForeignFile(path, { followsLinks: false });
  try {
    const { mode } = await log.stat();
    const { createGzip } = await import('node:zlib');
    // Of an agent that was killed meanwhile.
    await rm(temporary, { force: true });
    const compressed = (await open(temporary, 'wx', mode)).createWriteStream();
    await pipeline(log.createReadStream({ autoClose: false }), createGzip(), compressed, { signal });
    await rename(temporary, final);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await log.close();
  }
  await rm(path, { force: true });
}
