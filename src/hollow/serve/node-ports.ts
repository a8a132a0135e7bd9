/** A port for each hollow node: by it the one server knows which node is asked. */
import { createServer, type Server } from 'node:net';
import type { NodeServer } from '../../agent/server/node/node-server.ts';
import { listen } from '../../agent/server/listen.ts';
import type { ServerSettings } from '../../types/node-settings.ts';

export class NodePorts {
  /** By the name of the node. */
  readonly all = new Map<string, number>();
  readonly #settings: Pick<ServerSettings, 'address' | 'port'>;
  readonly #names = new Map<number, string>();
  readonly #servers: Server[] = [];

  constructor(settings: Pick<ServerSettings, 'address' | 'port'>) {
    this.#settings = settings;
  }

  /** Empty: no node has the port. */
  nameOf(port: number | undefined): string {
    return this.#names.get(port ?? 0) ?? '';
  }

  /**
   * The first node has the server's port, the others those that follow on the port that was chosen, or any free ones. Rejects with
   * `FailedPrecondition` where a port cannot be bound.
   */
  async open(server: NodeServer, [first = '', ...others]: readonly string[]): Promise<void> {
    this.#add(first, server.port ?? 0);
    const { address: host, port: chosen = 0 } = this.#settings;
    const flags = { portFlag: '--port', hostFlag: '--address' };
    for (const [index, name] of others.entries()) {
      const sockets = createServer((socket) => server.accept(socket));
      const port = chosen === 0 ? 0 : chosen + index + 1;
      this.#add(name, await listen(sockets, { host, port, what: `the paths of ${name}`, ...flags }));
      this.#servers.push(sockets);
    }
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }

  #add(name: string, port: number): void {
    this.all.set(name, port);
    this.#names.set(port, name);
  }
}
