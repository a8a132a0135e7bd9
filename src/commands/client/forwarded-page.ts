/** `statelet ui`: serves the page of a daemon that runs, at a port of this machine. What the page asks for goes to the daemon's socket. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Endpoint } from '../../agent/config/config.ts';
import { RequestError, type Route } from '../../agent/server/routes/route.ts';
import { PAGE_ROUTES, startPageServer } from '../../page/server/page-server.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';
import { NEVER_ABORTED } from '../../system/promises.ts';

export interface PageFlags extends FolderFlags {
  readonly address?: Endpoint;
}

export interface PageTeller {
  line(text: string): void;
  problem(text: string): void;
}

const ANY_PORT: Endpoint = { host: '127.0.0.1', port: 0 };

/** Goes on until `signal` ends it. */
export async function servePage(
  flags: PageFlags,
  tell: PageTeller,
  signal: AbortSignal = NEVER_ABORTED,
): Promise<void> {
  await withDaemon(flags, async (daemon) => {
    const server = await startPageServer({
      ...(flags.address ?? ANY_PORT),
      routes: [forwardedTo(daemon)],
      flag: '--address=HOST:PORT',
      logger: { warn: (_, message) => tell.problem(message) },
    });
    tell.line(server.url);
    try {
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await server.close();
    }
  });
}

function forwardedTo(daemon: DaemonConnection): Route {
  return {
    path: `${PAGE_ROUTES}*`,
    methods: ['GET'],
    handle: ({ raw }, response) => forward(daemon, raw.url ?? '/', response),
  };
}

async function forward(daemon: DaemonConnection, url: string, response: ServerResponse): Promise<void> {
  const ended = new AbortController();
  response.once('close', () => ended.abort());
  const sent = daemon.open(url, { signal: ended.signal }).end();
  const [answer] = (await once(sent, 'response').catch(refuse)) as [IncomingMessage];
  const { 'content-type': type = 'text/plain', 'cache-control': cache = 'no-store' } = answer.headers;
  response.writeHead(answer.statusCode ?? 502, { 'Content-Type': type, 'Cache-Control': cache });
  response.flushHeaders();
  // Either side may end it at any time.
  await pipeline(answer, response).catch(() => undefined);
}

function refuse(): never {
  throw new RequestError(502, 'the daemon does not answer\n');
}
