/** The unix socket in the root folder, at which a daemon serves everything to its owner. */
import { chmodSync, closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { Server as SocketServer } from 'node:net';
import { join } from 'node:path';
import { listening } from '../../system/listening.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { ifThere } from '../../system/system-errors.ts';
import { close } from './listen.ts';

const SOCKET = 'statelet.sock';

export function controlSocket(rootDir: string): string {
  return join(rootDir, SOCKET);
}

/**
 * Only the holder of the folder's lock may call this: it replaces the socket that a dead daemon has left. Rejects with the
 * system's error. Returns the function that closes server and socket.
 */
export async function listenOnControlSocket(server: Server, rootDir: string): Promise<() => Promise<void>> {
  const release = await listenInFolder(server, { folder: rootDir, name: SOCKET, mode: 0o600 });
  return async () => {
    await close(server);
    release();
  };
}

export interface SocketInFolder {
  readonly folder: string;
  readonly name: string;
  readonly mode: number;
}

/** Replaces the socket. Returns what is to be called once the server has closed: that removes the socket by its path, which needs the open folder. */
export async function listenInFolder(
  server: SocketServer,
  { folder, name, mode }: SocketInFolder,
): Promise<() => void> {
  const { fd, socket } = openFolder(folder, name);
  try {
    removeSocket(socket);
    await bind(server, socket, mode);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return () => closeSync(fd);
}

function removeSocket(socket: string): void {
  try {
    unlinkSync(socket);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function bind(server: SocketServer, socket: string, mode: number): Promise<void> {
  await listening(server, socket);
  chmodSync(socket, mode);
}

/** Calls `use` with a path to the socket that is valid until the promise settles. Rejects when there is no such folder. */
export async function withControlSocket<T>(rootDir: string, use: (path: string) => Promise<T>): Promise<T> {
  const { fd, socket } = openFolder(rootDir, SOCKET);
  try {
    return await use(socket);
  } finally {
    closeSync(fd);
  }
}

/** The path of a socket may have 107 bytes, and folders are often deeper: this path goes through the open folder. */
function openFolder(folder: string, name: string): { readonly fd: number; readonly socket: string } {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return { fd, socket: `/proc/self/fd/${fd}/${name}` };
}

/** Lies in the root folder and has the address at which the daemon serves `/healthz`. */
const FILE = 'statelet.addr';

/** Not secret: any user may read it, unless the umask says otherwise. */
const MODE = 0o666;

export function addressFile(rootDir: string): string {
  return join(rootDir, FILE);
}

/** A reader finds the old address or the new one, whole. When the file cannot be written, the address of an earlier daemon is removed. */
export async function writeAddress(rootDir: string, address: string): Promise<void> {
  try {
    await replaceFile(addressFile(rootDir), `${address}\n`, { mode: MODE });
  } catch (error) {
    await removeAddress(rootDir).catch(() => undefined);
    throw error;
  }
}

export async function removeAddress(rootDir: string): Promise<void> {
  await rm(addressFile(rootDir), { force: true });
}

/** Undefined when there is no file: no daemon has served from this folder, or the last one has stopped in good order. */
export async function readAddress(rootDir: string): Promise<string | undefined> {
  const text = await ifThere(readFile(addressFile(rootDir), 'utf8'));
  return text?.trim();
}
