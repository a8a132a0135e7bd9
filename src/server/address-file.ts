/** The file `statelet.addr` in the root folder: the address at which the daemon serves `/healthz`. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../system/replace-file.ts';
import { ifThere } from '../system/system-errors.ts';

const FILE = 'statelet.addr';
/** Not secret: any user may read it, unless the umask says otherwise. */
const MODE = 0o666;

export function addressFile(rootDir: string): string {
  return join(rootDir, FILE);
}

/** A reader finds the old address or the new one, whole. When the file cannot be written, the address of an earlier daemon is removed. */
export async function writeAddress(rootDir: string, address: string): Promise<void> {
  try {
    await replaceFile(addressFile(rootDir), `${address}\n`, { mode: MODE });
  } catch (error) {
    await removeAddress(rootDir).catch(() => undefined);
    throw error;
  }
}

export async function removeAddress(rootDir: string): Promise<void> {
  await rm(addressFile(rootDir), { force: true });
}

/** Undefined when there is no file: no daemon has served from this folder, or the last one has stopped in good order. */
export async function readAddress(rootDir: string): Promise<string | undefined> {
  const text = await ifThere(readFile(addressFile(rootDir), 'utf8'));
  return text?.trim();
}
