import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoCode, ifThere } from './system-errors.ts';

/** Makes a folder with those above it, unless it exists. Rejects with the error of the system. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    // What Node says of a read-only file system: the folder itself, made alone, has the true reason.
    if (errnoCode(error) === 'ENOENT') await mkdir(await firstMissing(path));
    throw error;
  }
}

async function firstMissing(path: string): Promise<string> {
  const parent = dirname(path);
  return (await ifThere(stat(parent))) === undefined ? firstMissing(parent) : path;
}
