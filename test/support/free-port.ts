import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the kernel takes for outgoing connections, which might take the port before the server does. */
const [FIRST, LAST] = [15_000, 32_000];
const given = new Set<number>();
const WORKERS_MAX = 8;

/**
 * A random number below `count`. Those of one worker of Jest differ from those of the next seven. Two suites at the same moment rarely choose the
 * same.
 */
export function ownNumber(count: number): number {
  const share = Math.floor(count / WORKERS_MAX);
  const worker = Number(process.env.JEST_WORKER_ID ?? 0) % WORKERS_MAX;
  return worker * share + randomInt(share);
}

/** A port of 127.0.0.1 that is free now, for a server that cannot be told to take any. No port is given twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + ownNumber(LAST - FIRST);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

/** Whether no server has the port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
