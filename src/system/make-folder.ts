import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoCode, ifThere } from './system-errors.ts';

/** Makes a folder and its parent folders, unless they exist. Rejects with the system's error. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    // Node reports ENOENT for a read-only file system: to make the first missing folder alone gives the true error.
    if (errnoCode(error) === 'ENOENT') await mkdir(await firstMissing(path));
    throw error;
  }
}

async function firstMissing(path: string): Promise<string> {
  const parent = dirname(path);
  return (await ifThere(stat(parent))) === undefined ? firstMissing(parent) : path;
}
