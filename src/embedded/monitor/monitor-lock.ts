import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { type FileLock, type HeldLock, lockFile } from '../../system/file-lock.ts';
import { removePrivateSync } from '../../system/files/remove-tree.ts';
import { connectSocket } from './monitor-socket.ts';

const WAIT_MS = 10_000;
const POLL_MS = 20;

const LOCK_FILE = 'monitor.lock';

/** `problem`: why the lock of an earlier monitor could not be used, and was made anew. */
export type MonitorLock =
  | { readonly isMonitor: false }
  | { readonly isMonitor: true; readonly problem?: string };

/**
 * Makes this process the only monitor of a runtime folder, until it ends, unless another monitor answers there.
 *
 * Only the holder of the lock creates and removes the socket file: it can safely replace one that a killed monitor
 * has left.
 */
export async function becomeMonitor(runtimeDir: string): Promise<MonitorLock> {
  const deadline = Date.now() + WAIT_MS;
  while (Date.now() < deadline) {
    if (await answers(runtimeDir)) return { isMonitor: false };
    const { lock, problem } = lockAnyway(join(runtimeDir, LOCK_FILE));
    if ('release' in lock) return { isMonitor: true, problem };
    // The holder is starting or ending: soon it answers, or the lock is free.
    await delay(POLL_MS);
  }
  throw new StateletError(
    'Unavailable',
    `another process holds the lock of ${runtimeDir} and does not answer`,
  );
}

/** What is no file cannot be the lock that a monitor holds: it is replaced. */
function lockAnyway(path: string): { lock: FileLock | HeldLock; problem?: string } {
  try {
    return { lock: lockFile(path) };
  } catch (error) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== false) throw error;
    removePrivateSync(path);
    return { lock: lockFile(path), problem: errorMessage(error) };
  }
}

async function answers(runtimeDir: string): Promise<boolean> {
  try {
    const socket = await connectSocket(runtimeDir);
    socket.destroy();
    return true;
  } catch {
    return false;
  }
}
