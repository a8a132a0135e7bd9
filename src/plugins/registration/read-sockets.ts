/** Which unix sockets are in a folder and the folders in it. */
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsence } from '../../system/system-errors.ts';
import { errorMessage } from '../../types/errors.ts';

export interface FoundSockets {
  /** By path: which file it is. A socket that was removed and made again is another one. */
  readonly sockets: ReadonlyMap<string, string>;
  /** Paths that could not be read, with the reason. What was in them before counts as still there. */
  readonly problems: ReadonlyMap<string, string>;
}

/**
 * Names that begin with a dot are left out, and so is whatever is neither a socket nor a folder. A link to a socket counts, a link to
 * a folder does not. `onFolder` is called with each folder before it is read.
 */
export async function readSockets(folder: string, onFolder: (path: string) => void): Promise<FoundSockets> {
  const sockets = new Map<string, string>();
  const problems = new Map<string, string>();
  const attempt = async (path: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!isAbsence(error)) problems.set(path, errorMessage(error));
    }
  };
  const readSocket = async (path: string) => {
    const file = await stat(path, { bigint: true });
    // The number of a file that was removed is used again at once.
    if (file.isSocket()) sockets.set(path, [file.dev, file.ino, file.mtimeNs].join());
  };
  const readFolder = async (path: string): Promise<void> => {
    onFolder(path);
    const entries = (await readdir(path, { withFileTypes: true })).filter(
      ({ name }) => !name.startsWith('.'),
    );
    await Promise.all(
      entries.map(async (entry) => {
        const inner = join(path, entry.name);
        if (entry.isDirectory()) await attempt(inner, () => readFolder(inner));
        else if (mayBeSocket(entry)) await attempt(inner, () => readSocket(inner));
      }),
    );
  };
  await attempt(folder, () => readFolder(folder));
  return { sockets, problems };
}

function mayBeSocket(entry: Dirent): boolean {
  return entry.isSocket() || entry.isSymbolicLink();
}
