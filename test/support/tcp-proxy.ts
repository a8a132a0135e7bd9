/** Forwards connections to a server on loopback. It can refuse connections, or stay silent, as if the server did. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy {
  /** `127.0.0.1:<port>`. It stays the same after `close` and `open`. */
  host = '';
  /** The number of connections so far. */
  connections = 0;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #silent = false;
  #server: Server | undefined;

  /** `target`: `HOST:PORT` on loopback. */
  constructor(target: string) {
    this.#target = Number(target.split(':').at(-1));
  }

  /** Listens, and forwards everything. With `silent` it accepts connections and never answers. */
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

  /** Breaks all connections, and refuses new ones. */
  async close(): Promise<this> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (server) await new Promise((resolve) => server.close(resolve));
    return this;
  }

  /** Passes nothing on any more in the connections that there are, and leaves them open. */
  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe();
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
