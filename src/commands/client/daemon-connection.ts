/** Requests to the socket in the root folder of a running daemon, at which its owner may ask and do everything. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { type RootFolder, rootFolder } from '../../agent/config/root-folder.ts';
import { controlSocket, withControlSocket } from '../../agent/server/control-socket.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { type ErrorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { noDaemonIn } from '../daemon-request.ts';

export interface FolderFlags {
  readonly rootDir?: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
}

export class DaemonConnection {
  /** Where the daemon is, for messages. */
  readonly origin: string;
  /** A path to the socket that any process of this machine can use while the connection is in use. */
  readonly socketPath: string;

  constructor(origin: string, socketPath: string) {
    this.origin = origin;
    this.socketPath = socketPath;
  }

  /** Resolves with an answer of success, whose body is to be read. Rejects with a `StateletError` that has the daemon's words. */
  async request(path: string, options: RequestOptions = {}): Promise<IncomingMessage> {
    const response = await this.#answer(path, options);
    const { statusCode = 0 } = response;
    if (statusCode >= 400) throw refusal(statusCode, await text(response), path);
    return response;
  }

  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const body = await text(await this.request(path, options));
    return JSON.parse(body) as T;
  }

  /** An answer that goes on: each line is one. Rejects with `Unavailable` when the daemon ends; `signal` ends it without an error. */
  async *watch<T>(path: string, signal: AbortSignal | undefined): AsyncGenerator<T, undefined> {
    const response = await this.request(path, signal && { signal });
    try {
      for await (const line of createInterface({ input: response })) yield JSON.parse(line) as T;
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
    if (signal?.aborted !== true)
      throw new StateletError('Unavailable', `the daemon at ${this.origin} has ended`);
  }

  async #answer(path: string, options: RequestOptions): Promise<IncomingMessage> {
    try {
      const sent = this.open(path, options);
      sent.end(options.body);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return response;
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      const why = errnoCode(error) ?? errorMessage(error);
      throw new StateletError(
        'Unavailable',
        `no statelet answers at ${this.origin}; is it running? (${why})`,
      );
    }
  }

  /** A request that is still to be ended. */
  open(path: string, { method = 'GET', headers = {}, signal }: RequestOptions = {}): ClientRequest {
    const { socketPath } = this;
    return httpRequest({
      socketPath,
      path,
      method,
      headers: { Host: 'localhost', ...headers },
      signal,
      agent: false,
    });
  }
}

/** `signal`: ends the wait for an answer. Rejects with `Unavailable` where no daemon serves from that folder, and with `PermissionDenied` where it is another user's. */
export async function withDaemon<T>(
  { rootDir }: FolderFlags,
  use: (daemon: DaemonConnection) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const folder = rootFolder(rootDir);
  const socket = controlSocket(folder.path);
  let connection: DaemonConnection | undefined;
  try {
    return await withControlSocket(folder.path, async (path) => {
      connection = new DaemonConnection(socket, path);
      await reach(connection, folder, signal);
      return use(connection);
    });
  } catch (error) {
    if (error instanceof StateletError) throw error;
    throw connection === undefined ? notReached(folder, error) : error;
  }
}

/** Finds out why a daemon cannot be reached, before a request that could have other reasons to fail. */
async function reach(connection: DaemonConnection, folder: RootFolder, signal?: AbortSignal): Promise<void> {
  const sent = connection.open('/healthz', signal && { signal }).end();
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
  } catch (error) {
    throw notReached(folder, error);
  }
}

function notReached(folder: RootFolder, error: unknown): StateletError {
  const socket = controlSocket(folder.path);
  switch (errnoCode(error)) {
    case 'EACCES':
      return new StateletError(
        'PermissionDenied',
        `${socket} belongs to another user: run this command as the user of the daemon`,
      );
    case 'ENOENT':
    case 'ENOTDIR':
      return noDaemonIn(folder);
    default:
      return new StateletError(
        'Unavailable',
        `no statelet answers at ${socket}; is it running? (${errnoCode(error) ?? errorMessage(error)})`,
      );
  }
}

const KINDS: Partial<Record<number, ErrorKind>> = {
  400: 'FailedPrecondition',
  404: 'NotFound',
  409: 'FailedPrecondition',
  503: 'Unavailable',
};

const SHOWN_MAX = 2_000;

export function refusal(status: number, body: string, path: string): StateletError {
  const [, route = ''] = /^([^?]*)/u.exec(path) ?? [];
  const words = body.trim().slice(0, SHOWN_MAX);
  const message = words === '' ? `the daemon answers ${String(status)} to ${route}` : words;
  return new StateletError(KINDS[status] ?? 'Unknown', message);
}
