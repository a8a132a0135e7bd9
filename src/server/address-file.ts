/** The file in its root folder that tells where a daemon serves `/healthz`: `statelet.addr`. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'statelet.addr';

export function addressFile(rootDir: string): string {
  return join(rootDir, FILE);
}

/** Others see the old address or the new one, whole. Where it cannot be written there is none, nor that of a former daemon. */
export async function writeAddress(rootDir: string, address: string): Promise<void> {
  const file = addressFile(rootDir);
  try {
    await writeFile(`${file}.new`, `${address}\n`);
    await rename(`${file}.new`, file);
  } catch (error) {
    for (const path of [`${file}.new`, file]) await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
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
