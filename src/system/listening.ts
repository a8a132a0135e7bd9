import type { Server } from 'node:net';

/**
 * Resolves when the server listens at the path of a socket; rejects with the system's error if it cannot. Later errors of the server are
 * passed over: they are of connections that could not be accepted, as the machine had no memory or files left, and the next one may work.
 */
export function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.on('error', reject).listen(path, resolve);
  });
}
