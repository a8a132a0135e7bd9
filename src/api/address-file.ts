/** Where a running daemon says how to reach it: `statelet.addr` in its root folder, for `statelet pods`. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'statelet.addr';

export function addressFile(rootDir: string): string {
  return join(rootDir, FILE);
}

/** Whoever reads meanwhile sees the old address or the new one, whole. */
export async function writeAddress(rootDir: string, address: string): Promise<void> {
  const file = addressFile(rootDir);
  await writeFile(`${file}.new`, `${address}\n`);
  await rename(`${file}.new`, file);
}

export async function removeAddress(rootDir: string): Promise<void> {
  await rm(addressFile(rootDir), { force: true });
}

/** undefined when there is none: no daemon has served from this folder, or it stopped in good order. */
export async function readAddress(rootDir: string): Promise<string | undefined> {
  try {
    return (await readFile(addressFile(rootDir), 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
