import { closeSync, constants, openSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

const SOCKET_NAME = 'monitor.sock';

/**
 * A path for the socket in a folder of which `dirFd` is a descriptor. A socket's address may have 107 bytes, and root
 * directories are often deeper; this one is short, and names the folder itself rather than whatever is at its path.
 */
export function socketPath(dirFd: number): string {
  return `/proc/self/fd/${dirFd}/${SOCKET_NAME}`;
}

export function openDirectory(dir: string): number {
  return openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
}

/** Connects to the monitor of a runtime folder; rejects with the system's error when nobody listens. */
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
