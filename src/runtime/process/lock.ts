import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { StateletError } from '../../types/errors.ts';
import { connectSocket } from './socket.ts';

const WAIT_MS = 10_000;
const POLL_MS = 5;

/**
 * Makes this process the one monitor of a runtime folder. Resolves to true when it is, to false when another one
 * serves there already.
 *
 * The lock is an abstract unix socket named after the folder itself, which the kernel lets go with the process, however
 * that ends. Only its holder touches the socket file that clients connect to, so that a file which a killed monitor left
 * can be replaced without looking twice.
 */
export async function becomeMonitor(runtimeDir: string): Promise<boolean> {
  const { dev, ino } = statSync(runtimeDir, { bigint: true });
  const name = `\0statelet-monitor-${dev}-${ino}`;
  const deadline = Date.now() + WAIT_MS;
  while (Date.now() < deadline) {
    // Asking comes first: abstract sockets are per network namespace, and the folder may be shared between some.
    if (await answers(runtimeDir)) return false;
    if (await hold(name)) return true;
    // The holder is starting, or ending: either way it will soon be clear.
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

function hold(name: string): Promise<boolean> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(name, () => resolve(true));
  });
}
