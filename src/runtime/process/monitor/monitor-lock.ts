import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StateletError } from '../../../types/errors.ts';
import { lockFile } from '../../../system/file-lock.ts';
import { connectSocket } from './monitor-socket.ts';

const WAIT_MS = 10_000;
const POLL_MS = 20;

const LOCK_FILE = 'monitor.lock';

/**
 * Makes this process the only monitor of a runtime folder, until it ends. Resolves to true on success, to false if
 * another monitor answers there.
 *
 * Only the holder of the lock creates and removes the socket file: it can safely replace one that a killed monitor
 * has left.
 */
export async function becomeMonitor(runtimeDir: string): Promise<boolean> {
  const deadline = Date.now() + WAIT_MS;
  while (Date.now() < deadline) {
    if (await answers(runtimeDir)) return false;
    if ('release' in lockFile(join(runtimeDir, LOCK_FILE))) return true;
    // The holder is starting or ending: soon it answers, or the lock is free.
    await delay(POLL_MS);
  }
  throw new StateletError(
    'Unavailable',
    `another process holds the lock of ${runtimeDir} and does not answer`,
  );
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
