import { readdir } from 'node:fs/promises';
import { ifThere } from '../system-errors.ts';

/** The names of the folders in a folder; none where there is no such folder. */
export async function subfolderNames(folder: string): Promise<readonly string[]> {
  const entries = (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
