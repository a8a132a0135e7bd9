/** The unix socket in the root folder, over which a daemon tells its owner everything. */
import { chmodSync, closeSync, constants, openSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { close } from './listen.ts';

const SOCKET = 'statelet.sock';

export function controlSocket(rootDir: string): string {
  return join(rootDir, SOCKET);
}

/**
 * Only for the holder of the folder's lock: a socket that is there is a dead daemon's. Rejects with the error of the
 * system. Returns how to close server and socket.
 */
export async function listenOnControlSocket(server: Server, rootDir: string): Promise<() => Promise<void>> {
  const folder = openFolder(rootDir);
  try {
    removeSocket(folder.socket);
    await bind(server, folder.socket);
  } catch (error) {
    closeSync(folder.fd);
    throw error;
  }
  return async () => {
    // Closing removes the socket by its path, for which the folder has to be open.
    await close(server);
    closeSync(folder.fd);
  };
}

function removeSocket(socket: string): void {
  try {
    unlinkSync(socket);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function bind(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, () => {
      chmodSync(socket, 0o600);
      resolve();
    });
  });
}

/** Calls `use` with a path to the socket, which holds until the promise settles. Throws where there is no such folder. */
export async function withControlSocket<T>(rootDir: string, use: (path: string) => Promise<T>): Promise<T> {
  const { fd, socket } = openFolder(rootDir);
  try {
    return await use(socket);
  } finally {
    closeSync(fd);
  }
}

/** The address of a socket may have 107 bytes, and root folders are often deeper: the path goes by the open folder. */
function openFolder(rootDir: string): { readonly fd: number; readonly socket: string } {
  const fd = openSync(rootDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { fd, socket: `/proc/self/fd/${fd}/${SOCKET}` };
}
