import { mkdir, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { errorMessage, StateletError } from '../types/errors.ts';
import { errnoCode } from './system-errors.ts';

/** How long a holder may take to say who it is: one that is suspended never does. */
const ANSWER_MS = 1_000;

export interface RootLock {
  release(): void;
}

/**
 * Makes this process the only agent on a root directory. The lock is an abstract unix socket named after the folder
 * itself (device and inode), so that the kernel lets it go with the process, however that ends, and another path to the
 * same folder is the same lock. Whoever connects is told the holder's pid.
 */
export async function lockRootDir(rootDir: string): Promise<RootLock> {
  const { dev, ino } = await folder(rootDir);
  const name = `\0statelet-${dev}-${ino}`;
  try {
    const server = await listen(name);
    return { release: () => server.close() };
  } catch (error) {
    if (errnoCode(error) !== 'EADDRINUSE') throw error;
    throw new StateletError(
      'FailedPrecondition',
      `--root-dir ${rootDir} is in use by another instance (${await holder(name)}): stop it, or give this one a folder of its own`,
    );
  }
}

async function folder(rootDir: string): Promise<{ dev: number; ino: number }> {
  try {
    await mkdir(rootDir, { recursive: true });
    return await stat(rootDir);
  } catch (error) {
    const mend = 'give a folder that this user may write';
    throw new StateletError('InvalidArgument', `--root-dir ${rootDir}: ${errorMessage(error)}: ${mend}`);
  }
}

function listen(name: string): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  const server = createServer((socket) => socket.on('error', () => undefined).end(String(process.pid)));
  server.once('error', reject);
  server.listen(name, () => resolve(server.unref()));
  return promise;
}

function holder(name: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(name);
  let pid = '';
  socket.setEncoding('utf8').on('data', (text: string) => (pid += text));
  const giveUp = () => resolve('it does not answer');
  socket.once('end', () => resolve(`pid ${pid}`)).once('error', giveUp);
  socket.setTimeout(ANSWER_MS, () => {
    socket.destroy();
    giveUp();
  });
  return promise;
}
