/** Which unix sockets are in a folder and the folders in it. */
import type { Dirent } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type PatientCalls, patientCalls } from '../../system/files/patient-calls.ts';
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
 * a folder does not. `onFolder` is called with each folder before it is read. `calls`: a link may lead to a file system that does not
 * answer.
 */
export async function readSockets(
  folder: string,
  onFolder: (path: string) => void,
  calls: Pick<PatientCalls, 'call'> = patientCalls,
): Promise<FoundSockets> {
  const sockets = new Map<string, string>();
  const problems = new Map<string, string>();
  const attempt = async (path: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!isAbsence(error)) problems.set(path, errorMessage(error));
    }
  };
  const readSocket = async (path: string, isLink: boolean) => {
    const file = isLink
      ? await calls.call(path, () => stat(path, { bigint: true }))
      : await lstat(path, { bigint: true });
    // The number of a file that was removed is used again at once.
    if (file.isSocket()) sockets.set(path, [file.dev, file.ino, file.mtimeNs].join());
  };
  const readFolder = async (path: string): Promise<void> => {
    // Of a folder that does not answer, the watch would not return either.
    await calls.call(path, () => lstat(path));
    onFolder(path);
    const all = await calls.call(path, () => readdir(path, { withFileTypes: true }));
    const entries = all.filter(({ name }) => !name.startsWith('.'));
    await Promise.all(
      entries.map(async (entry) => {
        const inner = join(path, entry.name);
        if (entry.isDirectory()) await attempt(inner, () => readFolder(inner));
        else if (mayBeSocket(entry)) await attempt(inner, () => readSocket(inner, entry.isSymbolicLink()));
      }),
    );
  };
  await attempt(folder, () => readFolder(folder));
  return { sockets, problems };
}

function mayBeSocket(entry: Dirent): boolean {
  return entry.isSocket() || entry.isSymbolicLink();
}
