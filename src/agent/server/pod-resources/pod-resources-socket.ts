/** The socket of the PodResources API. Its service is loaded when the first client comes. */
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { GrpcServer } from '../../../system/grpc/grpc-server.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';
import { listenInFolder } from '../control-socket.ts';
import type { PodResourcesParts } from './pod-resources-service.ts';

const FOLDER = 'pod-resources';
const FOLDER_MODE = 0o750;
const SOCKET = 'kubelet.sock';
/** As Go makes a socket with the usual umask: the folder keeps others out. */
const SOCKET_MODE = 0o755;
/** Each takes a file descriptor, and the daemon needs descriptors for its pods. */
const CONNECTIONS_MAX = 32;

export class PodResourcesSocket {
  readonly #open = new Set<Socket>();
  readonly #parts: () => PodResourcesParts;
  readonly #logger: Logger;
  #grpc: Promise<GrpcServer> | undefined;
  #isClosed = false;
  #close = (): Promise<void> => Promise.resolve();

  constructor(logger: Logger, parts: () => PodResourcesParts) {
    this.#logger = logger;
    this.#parts = parts;
  }

  /** A node without it runs its pods as well: what goes wrong is logged. */
  async listen(rootDir: string): Promise<void> {
    const folder = join(rootDir, FOLDER);
    // The service reads the connection, and not before it is there.
    const server = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket));
    try {
      await makeFolder(folder, FOLDER_MODE);
      const release = await listenInFolder(server, { folder, name: SOCKET, mode: SOCKET_MODE });
      this.#close = () => this.#end(server, release);
      if (this.#isClosed) await this.close();
    } catch (error) {
      const message = `PodResources cannot be served at ${join(folder, SOCKET)}: ${errorMessage(error)}`;
      this.#logger.warn({ err: error }, message);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const close = this.#close;
    this.#close = () => Promise.resolve();
    await close();
  }

  async #end(server: Server, release: () => void): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    release();
  }

  /** Where there are too many connections, the oldest one is ended: clients that do nothing cannot keep others out. */
  #accept(socket: Socket): void {
    const [oldest] = this.#open;
    if (oldest && this.#open.size >= CONNECTIONS_MAX) {
      this.#open.delete(oldest);
      oldest.destroy();
    }
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket)).on('error', () => undefined);
    this.#grpc ??= this.#load();
    void this.#grpc.then(
      (grpc) => {
        if (socket.destroyed) return;
        grpc.serve(socket);
        socket.resume();
      },
      () => socket.destroy(),
    );
  }

  async #load(): Promise<GrpcServer> {
    const { podResourcesServer } = await import('./pod-resources-service.ts');
    return podResourcesServer(this.#parts());
  }
}
