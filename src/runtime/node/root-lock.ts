import { join } from 'node:path';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { type FileLock, type HeldLock, lockFile, lookAtLock } from '../../system/file-lock.ts';
import { makeFolder } from '../../system/make-folder.ts';
import { isOutOfSpace } from '../../system/system-errors.ts';

export type RootLock = FileLock;

const LOCK_FILE = 'lock';

/**
 * Makes this process the only agent on a root directory. The kernel locks a file in the folder, so that an agent that uses another
 * path to the folder, or runs in another network namespace, finds the same lock.
 */
export async function lockRootDir(rootDir: string): Promise<RootLock> {
  const lock = await locked(rootDir);
  if ('release' in lock) return lock;
  const who = lock.holder === undefined ? '' : ` (pid ${lock.holder})`;
  throw new StateletError(
    'FailedPrecondition',
    `--root-dir ${rootDir} is in use by another instance${who}: stop it, or give this one a folder of its own`,
  );
}

/** Whether an agent has the folder, without keeping one from it that starts. Throws the system's error. */
export function lookAtRootLock(rootDir: string): ReturnType<typeof lookAtLock> {
  return lookAtLock(join(rootDir, LOCK_FILE));
}

async function locked(rootDir: string): Promise<FileLock | HeldLock> {
  try {
    await makeFolder(rootDir);
    return lockFile(join(rootDir, LOCK_FILE));
  } catch (error) {
    if (errorKind(error) === 'FailedPrecondition') throw error;
    const mend = isOutOfSpace(error) ? 'make room on its disk' : 'give a folder that this user may write';
    throw new StateletError('InvalidArgument', `--root-dir ${rootDir}: ${errorMessage(error)}: ${mend}`);
  }
}
