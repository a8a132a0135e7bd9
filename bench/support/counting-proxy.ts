import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Forwards connections to a port of this machine, and counts their bytes. */
export class CountingProxy {
  /** In both directions. */
  bytes = 0;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#forward(socket));
  }

  /** For a kubeconfig. */
  get url(): string {
    const address = this.#server.address();
    return `https://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
  }

  async open(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #forward(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk: Buffer) => (this.bytes += chunk.length));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
