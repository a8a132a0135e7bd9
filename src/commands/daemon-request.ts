/** Questions to a running daemon. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { addressFile, readAddress } from '../api/address-file.ts';
import { defaultRootDir, thisHost } from '../config/config.ts';
import { errorMessage, StateletError } from '../types/errors.ts';

export interface DaemonFlags {
  readonly rootDir?: string;
  /** `http://HOST:PORT`, or `HOST:PORT`. */
  readonly server?: string;
}

const ANSWER_TIMEOUT_MS = 10_000;
const MAX_SHOWN = 200;

/** The JSON at that path. Rejects with `Unavailable` when no daemon answers, or with something else. */
export async function askDaemon<T>(
  path: string,
  { server, rootDir }: DaemonFlags,
  isAnswer: (body: unknown) => body is T,
): Promise<T> {
  const url = urlOf(path, server ?? (await addressOf(rootDir)));
  const { status, body } = await request(url).catch((error: unknown) => {
    const message = `no statelet answers at ${url.origin}; is it running? (${errorMessage(error)})`;
    throw new StateletError('Unavailable', message);
  });
  const answer = status === 200 ? parsed(body) : undefined;
  if (isAnswer(answer)) return answer;
  const beginning = body.slice(0, MAX_SHOWN).trim();
  throw new StateletError('Unavailable', `${url.href} is not served by a statelet: ${status} ${beginning}`);
}

async function addressOf(rootDir: string | undefined): Promise<string> {
  const folder = resolve(rootDir ?? defaultRootDir(thisHost()));
  const address = await readAddress(folder);
  if (address !== undefined) return address;
  throw new StateletError(
    'Unavailable',
    `no statelet serves from ${folder}: there is no ${addressFile(folder)}\n` +
      'give the --root-dir that it was started with, or its --server',
  );
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

/** Not fetch(), which refuses a number of ports. */
async function request(url: URL): Promise<{ status: number; body: string }> {
  const sent = get(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
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
