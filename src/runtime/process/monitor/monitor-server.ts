import { chmodSync, fchmodSync, readlinkSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { ContainerEvent } from '../../../types/cri.ts';
import { removePrivateSync } from '../../../system/files/remove-tree.ts';
import { StateletError } from '../../../types/errors.ts';
import { encode, encodeResponse, FEATURES, LineSplitter, PROTOCOL_VERSION, toWireError } from './protocol.ts';
import type { ClientMessage, Handlers, MethodName, Request } from './protocol.ts';
import { openDirectory, socketPath } from './monitor-socket.ts';

/**
 * A client with more unread bytes is disconnected. It connects again, and reads the present state instead of old
 * events.
 */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** A daemon has one connection. Each takes a file descriptor, and containers need some as well. */
const CONNECTIONS_MAX = 64;

/** Serves the protocol on the socket of a runtime folder. */
export class MonitorServer {
  readonly #dirFd: number;
  readonly #handlers: Handlers;
  readonly #connections = new Set<ClientConnection>();
  #server: Server | undefined;

  constructor(runtimeDir: string, handlers: Handlers) {
    this.#dirFd = openDirectory(runtimeDir);
    this.#handlers = handlers;
  }

  get clientCount(): number {
    return this.#connections.size;
  }

  /** Whether the runtime folder has been removed: then no client can connect any more. */
  get isFolderRemoved(): boolean {
    return readlinkSync(`/proc/self/fd/${this.#dirFd}`).endsWith(' (deleted)');
  }

  /** Only for the holder of the folder's lock: a socket file that exists is left from a monitor that has ended. */
  async listen(): Promise<void> {
    const path = socketPath(this.#dirFd);
    removePrivateSync(path);
    fchmodSync(this.#dirFd, 0o700);
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    chmodSync(path, 0o600);
  }

  /** Makes the socket file again if it was deleted. */
  async ensureReachable(): Promise<void> {
    if (statSync(socketPath(this.#dirFd), { throwIfNoEntry: false })?.isSocket()) return;
    // This closes the listener only; its connections stay.
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

  /** One too many takes the place of the oldest that has asked for nothing. Where all have asked, it is closed. */
  #accept(socket: Socket): void {
    if (this.#connections.size >= CONNECTIONS_MAX) {
      const silent = [...this.#connections].find(({ hasAsked }) => !hasAsked);
      if (silent === undefined) {
        socket.destroy();
        return;
      }
      this.#connections.delete(silent);
      silent.end();
    }
    const connection = new ClientConnection(socket, this.#handlers);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }
}

/** The monitor's end of one connection. */
class ClientConnection {
  readonly #socket: Socket;
  readonly #handlers: Handlers;
  readonly #running = new Map<number, AbortController>();
  hasAsked = false;

  constructor(socket: Socket, handlers: Handlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    const lines = new LineSplitter();
    // An error is followed by close.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#abortCalls());
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) this.#receive(JSON.parse(line) as ClientMessage);
      } catch {
        // Not the protocol.
        socket.destroy();
      }
    });
    this.#reply(
      encode({
        hello: 'statelet-monitor',
        protocol: PROTOCOL_VERSION,
        pid: process.pid,
        features: FEATURES,
      }),
    );
  }

  send(line: string): void {
    this.#socket.write(line);
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy();
  }

  close(): void {
    this.#socket.end();
  }

  end(): void {
    this.#socket.destroy();
  }

  #receive(message: ClientMessage): void {
    this.hasAsked = true;
    if ('cancel' in message) this.#running.get(message.cancel)?.abort();
    else void this.#answer(message);
  }

  async #answer({ id, method, params }: Request): Promise<void> {
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      const result = await this.#handle(method, params, abort.signal);
      this.#reply(encodeResponse(id, method, result));
    } catch (error) {
      this.#reply(encode({ id, error: toWireError(error) }));
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

  #reply(line: string): void {
    if (this.#socket.writable) this.send(line);
  }

  #abortCalls(): void {
    for (const abort of this.#running.values()) abort.abort();
  }
}
