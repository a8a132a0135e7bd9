import { closeSync, constants, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

const SOCKET_NAME = 'monitor.sock';

/**
 * A path for the socket in the folder with the descriptor `dirFd`. A socket's address may have 107 bytes at most, and
 * the paths of root directories are often longer. This path is short, and stays right when the folder is renamed.
 */
export function socketPath(dirFd: number): string {
  return `/proc/self/fd/${dirFd}/${SOCKET_NAME}`;
}

export function openDirectory(dir: string): number {
  return openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
}

/** Connects to the monitor of a runtime folder; rejects with the system's error if no monitor listens. */
export function connectSocket(runtimeDir: string): Promise<Socket> {
  const dirFd = openDirectory(runtimeDir);
  const socket = connect(socketPath(dirFd));
  return new Promise<Socket>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  }).finally(() => closeSync(dirFd));
}
