/** The socket at which device plugins register themselves, `kubelet.sock` in their folder. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { patientCalls } from '../../../system/files/patient-calls.ts';
import { type GrpcServer, grpcServer, servedMethod } from '../../../system/grpc/grpc-server.ts';
import { listening } from '../../../system/listening.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { isAbsence } from '../../../system/system-errors.ts';
import { REGISTER, type RegisterRequest } from './device-messages.ts';

const SOCKET = 'kubelet.sock';
const FOLDER_MODE = 0o750;
/** Each plugin has one for a moment. */
const CONNECTIONS_MAX = 100;

/** Rejects with the message for the plugin if it is refused. */
export type Register = (request: RegisterRequest) => Promise<void>;

export class RegistrationSocket {
  readonly #folder: string;
  readonly #register: Register;
  #server: Server | undefined;
  /** Made when the first plugin comes. */
  #grpc: GrpcServer | undefined;

  constructor(folder: string, register: Register) {
    this.#folder = folder;
    this.#register = register;
  }

  /** Removes the sockets of plugins, which watch the folder and register again then. Rejects if it cannot listen. */
  async open(): Promise<void> {
    await patientCalls.call(this.#folder, () => makeFolder(this.#folder, FOLDER_MODE));
    await removeSockets(this.#folder);
    const server = createServer((socket) => this.#serve().serve(socket));
    server.maxConnections = CONNECTIONS_MAX;
    await listening(server, join(this.#folder, SOCKET));
    this.#server = server;
    // An open server must not keep the process alive.
    server.unref();
  }

  /** Removes the socket. */
  close(): void {
    this.#server?.close();
    this.#grpc?.close();
  }

  #serve(): GrpcServer {
    this.#grpc ??= grpcServer([
      servedMethod(REGISTER, async (request) => {
        await this.#register(request);
        return {};
      }),
    ]);
    return this.#grpc;
  }
}

async function removeSockets(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    try {
      // A link stays, as with the kubelet where it leads to no socket.
      if ((await lstat(path)).isSocket()) await rm(path, { force: true });
    } catch (error) {
      if (!isAbsence(error)) throw error;
    }
  }
}
