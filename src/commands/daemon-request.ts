/** Requests to a running daemon. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { controlSocket, readAddress, withControlSocket } from '../agent/server/control-socket.ts';
import { defaultRootDir, thisHost } from '../agent/config/config.ts';
import { errorMessage, StateletError } from '../types/errors.ts';

export interface DaemonFlags {
  readonly rootDir?: string;
  /** `http://HOST:PORT`, or `HOST:PORT`. */
  readonly server?: string;
}

const ANSWER_TIMEOUT_MS = 10_000;
const MAX_SHOWN = 200;

/**
 * Gets the JSON at that path from the socket in the root folder. Users who may not use the socket get it from the address of the
 * daemon, which leaves secrets out. Rejects with `Unavailable` when no daemon answers.
 */
export async function askDaemon<T>(
  path: string,
  { server, rootDir }: DaemonFlags,
  isAnswer: (body: unknown) => body is T,
): Promise<T> {
  const { origin, status, body } =
    server === undefined ? await askFolder(path, folderOf(rootDir)) : await askServer(path, server);
  const answer = status === 200 ? parsed(body) : undefined;
  if (isAnswer(answer)) return answer;
  const beginning = body.slice(0, MAX_SHOWN).trim();
  throw new StateletError(
    'Unavailable',
    `${origin}${path} is not served by a statelet: ${status} ${beginning}`,
  );
}

interface Reply {
  readonly origin: string;
  readonly status: number;
  readonly body: string;
}

async function askServer(path: string, server: string): Promise<Reply> {
  const url = urlOf(path, server);
  try {
    return { origin: url.origin, ...(await request(url, {})) };
  } catch (error) {
    throw noAnswer(url.origin, error);
  }
}

async function askFolder(path: string, folder: string): Promise<Reply> {
  const socket = controlSocket(folder);
  try {
    const ask = (socketPath: string) => request(new URL(path, 'http://localhost'), { socketPath });
    return { origin: socket, ...(await withControlSocket(folder, ask)) };
  } catch (error) {
    const address = isOutOfReach(error) ? await readAddress(folder).catch(() => undefined) : undefined;
    if (address !== undefined) return askServer(path, address);
    throw isMissing(error) ? notServing(folder) : noAnswer(socket, error);
  }
}

/** The socket belongs to another user, or could not be made. */
function isOutOfReach(error: unknown): boolean {
  return isMissing(error) || codeOf(error) === 'EACCES';
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function noAnswer(origin: string, error: unknown): StateletError {
  // The system's message has the internal path of the socket (/proc/self/fd/…): only its code is shown.
  const message = `no statelet answers at ${origin}; is it running? (${codeOf(error) ?? errorMessage(error)})`;
  return new StateletError('Unavailable', message);
}

function notServing(folder: string): StateletError {
  return new StateletError(
    'Unavailable',
    `no statelet serves from ${folder}: there is no ${controlSocket(folder)}\n` +
      'give the --root-dir that it was started with, or its --server',
  );
}

function folderOf(rootDir: string | undefined): string {
  return resolve(rootDir ?? defaultRootDir(thisHost()));
}

function urlOf(path: string, server: string): URL {
  const base = server.includes('://') ? server : `http://${server}`;
  const url = URL.canParse(path, base) ? new URL(path, base) : undefined;
  if (url?.protocol === 'http:') return url;
  throw new StateletError(
    'InvalidArgument',
    `--server: "${server}" is neither http://HOST:PORT nor HOST:PORT`,
  );
}

/** fetch() is not used: it refuses some ports. */
async function request(
  url: URL,
  options: { readonly socketPath?: string },
): Promise<{ status: number; body: string }> {
  const sent = get(url, { ...options, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
