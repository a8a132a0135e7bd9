import { chmodSync, fchmodSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { ContainerEvent } from '../../../types/cri.ts';
import { StateletError } from '../../../types/errors.ts';
import { encode, FEATURES, LineSplitter, PROTOCOL_VERSION, toWireError } from './protocol.ts';
import type { ClientMessage, Handlers, MethodName, MonitorMessage, Request } from './protocol.ts';
import { openDirectory, socketPath } from './monitor-socket.ts';

/** A client that reads so slowly is cut off; it will come again, and read the state instead of old events. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** A daemon has one; each takes a descriptor, and containers need some. */
const CONNECTIONS_MAX = 64;

/** The monitor's end of the protocol, on the socket of a runtime folder. */
export class MonitorServer {
  readonly #dirFd: number;
  readonly #handlers: Handlers;
  readonly #connections = new Set<Connection>();
  #server: Server | undefined;

  constructor(runtimeDir: string, handlers: Handlers) {
    this.#dirFd = openDirectory(runtimeDir);
    this.#handlers = handlers;
  }

  get clients(): number {
    return this.#connections.size;
  }

  /** Whether the folder itself has been removed, after which no client can ever come again. */
  get homeless(): boolean {
    return readlinkSync(`/proc/self/fd/${this.#dirFd}`).endsWith(' (deleted)');
  }

  /** Only for the holder of the folder's lock: a socket that is there is a dead monitor's. */
  async listen(): Promise<void> {
    const path = socketPath(this.#dirFd);
    rmSync(path, { force: true });
    fchmodSync(this.#dirFd, 0o700);
    const server = createServer((socket) => this.#accept(socket));
    server.maxConnections = CONNECTIONS_MAX;
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    chmodSync(path, 0o600);
  }

  /** Makes the socket anew when somebody tidied it away. */
  async ensureReachable(): Promise<void> {
    if (statSync(socketPath(this.#dirFd), { throwIfNoEntry: false })?.isSocket()) return;
    // Its connections live on; only the listener goes.
    this.#server?.close();
    await this.listen();
  }

  broadcast(event: ContainerEvent): void {
    const line = encode({ event });
    for (const connection of this.#connections) connection.send(line);
  }

  close(): void {
    this.#server?.close();
    for (const connection of this.#connections) connection.close();
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket, this.#handlers);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }
}

class Connection {
  readonly #socket: Socket;
  readonly #handlers: Handlers;
  readonly #running = new Map<number, AbortController>();

  constructor(socket: Socket, handlers: Handlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    const lines = new LineSplitter();
    // An error is followed by close, which is all that matters.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#abandon());
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) this.#receive(JSON.parse(line) as ClientMessage);
      } catch {
        // Not one of ours.
        socket.destroy();
      }
    });
    const own = { protocol: PROTOCOL_VERSION, pid: process.pid, features: FEATURES };
    this.#reply({ hello: 'statelet-monitor', ...own });
  }

  send(line: string): void {
    this.#socket.write(line);
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy();
  }

  close(): void {
    this.#socket.end();
  }

  #receive(message: ClientMessage): void {
    if ('cancel' in message) this.#running.get(message.cancel)?.abort();
    else void this.#answer(message);
  }

  async #answer({ id, method, params }: Request): Promise<void> {
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      this.#reply({ id, result: await this.#handle(method, params, abort.signal) });
    } catch (error) {
      this.#reply({ id, error: toWireError(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  #handle(method: MethodName, params: unknown[], signal: AbortSignal): unknown {
    if (!Object.hasOwn(this.#handlers, method)) {
      throw new StateletError('Unimplemented', `the monitor has no method ${method}`);
    }
    const handler = this.#handlers[method] as (params: unknown[], signal: AbortSignal) => unknown;
    return handler(params, signal);
  }

  #reply(message: MonitorMessage): void {
    if (this.#socket.writable) this.send(encode(message));
  }

  #abandon(): void {
    for (const abort of this.#running.values()) abort.abort();
  }
}
