/** Requests to a running daemon. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { parsedJson } from '../agent/policies/formats/json-values.ts';
import { controlSocket, readAddress, withControlSocket } from '../agent/server/control-socket.ts';
import { type RootFolder, rootFolder } from '../agent/config/root-folder.ts';
import { errorMessage, invalid, StateletError } from '../types/errors.ts';

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
    server === undefined ? await askFolder(path, rootFolder(rootDir)) : await askServer(path, server);
  const answer = status === 200 ? parsedJson(body) : undefined;
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

async function askFolder(path: string, folder: RootFolder): Promise<Reply> {
  const rootDir = folder.path;
  const socket = controlSocket(rootDir);
  try {
    const ask = (socketPath: string) => request(new URL(path, 'http://localhost'), { socketPath });
    return { origin: socket, ...(await withControlSocket(rootDir, ask)) };
  } catch (error) {
    const address = isOutOfReach(error) ? await readAddress(rootDir).catch(() => undefined) : undefined;
    if (address !== undefined) return askServer(path, address);
    throw isMissing(error) ? noDaemonIn(folder, ', or its --server') : noAnswer(socket, error);
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

/** `others`: what else may be given to find the daemon. */
export function noDaemonIn({ path, origin, passedOver }: RootFolder, others = ''): StateletError {
  const lines = [
    `no statelet serves from ${path}, the root folder ${origin}: there is no ${controlSocket(path)}`,
    ...(passedOver === undefined ? [] : [passedOver]),
    `give the --root-dir that it was started with${others}`,
  ];
  return new StateletError('Unavailable', lines.join('\n'));
}

function urlOf(path: string, server: string): URL {
  const base = server.includes('://') ? server : `http://${server}`;
  const url = URL.canParse(path, base) ? new URL(path, base) : undefined;
  if (url?.protocol === 'http:') return url;
  throw invalid(`--server: "${server}" is neither http://HOST:PORT nor HOST:PORT`);
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
