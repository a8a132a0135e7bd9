import { chmodSync, fchmodSync, readlinkSync, statSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { removePrivateSync } from '../../system/files/remove-tree.ts';
import { listening } from '../../system/listening.ts';
import type { ContainerEvent, ContainerStats } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { Engine } from '../containers/engine.ts';
import { type ProcessStat, processTable, residentBytes } from '../containers/proc.ts';
import type { StreamDesk } from '../streams/stream-desk.ts';
import { openDirectory, socketPath } from './monitor-socket.ts';
import {
  type ClientMessage,
  encode,
  encodeResponse,
  FEATURES,
  type Handlers,
  LineSplitter,
  type MethodName,
  PROTOCOL_VERSION,
  type Request,
  toWireError,
} from './protocol.ts';
import type { ContainerRecord } from './records.ts';
import { nowNs } from '../../agent/runtime/logs/start-clock.ts';
import {
  matchesContainer,
  matchesSandbox,
  toContainerStatus,
  toListedContainer,
  toListedSandbox,
  toSandboxStatus,
} from './views.ts';

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
    await listening(server, path);
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

/** The methods of the protocol, carried out by an engine and the desk of its streams. */
export function engineHandlers(engine: Engine, streams: StreamDesk): Handlers {
  return {
    runPodSandbox: ([config]) => engine.runPodSandbox(config),
    stopPodSandbox: ([id]) => engine.stopPodSandbox(id),
    removePodSandbox: ([id]) => engine.removePodSandbox(id),
    podSandboxStatus: ([id]) => toSandboxStatus(engine.sandbox(id)),
    listPodSandbox: ([filter]) =>
      engine
        .sandboxes()
        .filter((record) => matchesSandbox(record, filter))
        .map(toListedSandbox),
    createContainer: ([sandboxId, config]) => engine.createContainer(sandboxId, config),
    startContainer: ([id]) => engine.startContainer(id),
    stopContainer: ([id, timeoutSeconds]) => engine.stopContainer(id, timeoutSeconds),
    removeContainer: ([id]) => engine.removeContainer(id),
    listContainers: ([filter]) =>
      engine
        .containers()
        .filter((record) => matchesContainer(record, filter))
        .map(toListedContainer),
    containerStatus: ([id]) => {
      const { record } = engine.container(id);
      return toContainerStatus(record, engine.sandbox(record.podSandboxId));
    },
    reopenContainerLog: ([id]) => engine.container(id).reopenLog(),
    execSync: ([id, command, timeoutSeconds], signal) =>
      engine.container(id).exec(command, { timeoutSeconds, signal }),
    listContainerStats: ([filter]) =>
      containerStats(
        engine
          .containers()
          .filter((record) => record.state === 'CONTAINER_RUNNING' && matchesContainer(record, filter)),
      ),
    openStreams: ([id, request]) => streams.open(id, request),
    runStreams: ([id], signal) => streams.run(id, signal),
    resizeTerminal: ([id, size]) => streams.resize(id, size),
    endInput: ([id]) => streams.endInput(id),
    takeFindings: () => [...engine.takeFindings()],
    ping: () => undefined,
  };
}

const NS_PER_TICK = 10_000_000;

/**
 * CPU time of a process is lost if its parent does not wait for its end: the highest sum is kept, so that a counter
 * never falls.
 */
const highestTicks = new WeakMap<ContainerRecord, number>();

/** What each container uses: the sum over the processes of its session or group. Shared pages count once per process. */
export function containerStats(records: readonly ContainerRecord[]): ContainerStats[] {
  const table = processTable();
  const timestamp = Number(nowNs());
  return records.map((record) => {
    const { id, config, process: main } = record;
    const members = table.filter((stat) => stat.sessionId === main?.pid || stat.groupId === main?.pid);
    const rssBytes = sum(members, (stat) => residentBytes(stat.pid));
    const cpuTicks = Math.max(
      highestTicks.get(record) ?? 0,
      sum(members, (stat) => stat.cpuTicks),
    );
    highestTicks.set(record, cpuTicks);
    return {
      attributes: { id, metadata: config.metadata, labels: config.labels },
      cpu: { timestamp, usageCoreNanoSeconds: cpuTicks * NS_PER_TICK },
      memory: { timestamp, workingSetBytes: rssBytes, rssBytes },
      processCount: members.length,
    };
  });
}

function sum(members: readonly ProcessStat[], of: (stat: ProcessStat) => number): number {
  return members.reduce((total, stat) => total + of(stat), 0);
}
