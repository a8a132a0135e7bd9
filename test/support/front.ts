/** Stands before a server on loopback, at an address of its own: the server can be away, or say nothing, and come back. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Front {
  /** `127.0.0.1:<port>`: the same all the time. */
  host = '';
  /** Every connection that was taken. */
  connections = 0;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #silent = false;
  #server: Server | undefined;

  /** `target`: `HOST:PORT` on loopback. */
  constructor(target: string) {
    this.#target = Number(target.split(':').at(-1));
  }

  /** Listens, and passes everything on; with `silent` it takes connections and answers nothing. */
  async open({ silent = false } = {}): Promise<this> {
    this.#silent = silent;
    if (this.#server !== undefined) return this;
    this.#server = createServer((socket) => this.#take(socket));
    this.#server.listen(Number(this.host.split(':').at(-1)), '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (address !== null && typeof address === 'object') this.host = `127.0.0.1:${address.port}`;
    return this;
  }

  /** Connections are refused, and those that stand are broken. */
  async close(): Promise<this> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (server) await new Promise((resolve) => server.close(resolve));
    return this;
  }

  #take(socket: Socket): void {
    this.connections += 1;
    this.#keep(socket);
    if (this.#silent) return;
    const server = connect(this.#target, '127.0.0.1');
    this.#keep(server);
    socket.pipe(server).pipe(socket);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => this.#sockets.delete(socket));
  }
}
