import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { compressedLogNames } from '../../policies/garbage/log-rotation.ts';

/**
 * Replaces a rotated log by its gzip. Rejects with the system's error, or with that of `signal`; then the log is unchanged, and no
 * other file is left.
 */
export async function compressLog(path: string, signal: AbortSignal): Promise<void> {
  const { temporary, final } = compressedLogNames(path);
  try {
    const { mode } = await stat(path);
    const { createGzip } = await import('node:zlib');
    await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary, { mode }), { signal });
    await rename(temporary, final);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rm(path, { force: true });
}
