import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { httpSource, type HttpSourceOptions } from '../../../src/agent/sources/http-source.ts';
import { problemText, type SourceUpdate } from '../../../src/agent/sources/source.ts';
import { Collector, manifest } from './support.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let url: string;
let handler: Handler;
let source: Collector<SourceUpdate> | undefined;

beforeEach(async () => {
  handler = answer(200, '');
  server = createServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
});
afterEach(async () => {
  source?.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const answer =
  (status: number, body: string | Buffer, headers: Record<string, string> = {}): Handler =>
  (_request, response) =>
    response.writeHead(status, headers).end(body);
function follow(options: Partial<HttpSourceOptions> = {}): Collector<SourceUpdate> {
  source = new Collector(httpSource({ url, nodeName: 'node', checkFrequencyMs: 5, ...options }));
  return source;
}
const names = ({ pods }: SourceUpdate) => pods?.map(({ metadata }) => metadata.name);
const texts = ({ problems }: SourceUpdate) =>
  problems.map((problem) => problemText(problem).replaceAll(url, 'URL'));
/** Sets the answer to the next request; resolves when the request has come. */
const handledBy = (next: Handler) =>
  new Promise<IncomingMessage>((resolve) => {
    handler = (request, response) => {
      resolve(request);
      next(request, response);
    };
  });

describe('a URL', () => {
  test('has static pods of source http; emits only changes', async () => {
    handler = answer(200, manifest('a'));
    const updates = follow();
    const first = await updates.next();
    expect(names(first)).toEqual(['a-node']);
    expect(first.pods?.[0]?.metadata.annotations?.['kubernetes.io/config.source']).toBe('http');
    await handledBy(answer(200, `# a comment\n${manifest('a')}`));
    await handledBy(answer(200, JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] })));
    expect(await updates.next()).toEqual({ pods: [], problems: [] });
  });

  test('is requested with the configured headers, each with all its values', async () => {
    const request = handledBy(answer(200, manifest('a')));
    follow({ headers: { 'X-Token': ['secret'], 'X-Zone': ['a', 'b'] } });
    expect((await request).headers).toMatchObject({ 'x-token': 'secret', 'x-zone': 'a, b' });
  });

  test('may contain a user name and a password: they are sent, and left out of messages', async () => {
    handler = answer(200, manifest('a'));
    const plain = await follow().next();
    source?.close();
    const named = url.replace('//', '//me:p%40ss@');
    expect(await follow({ url: named }).next()).toEqual(plain);
    source?.close();
    const request = handledBy(answer(500, ''));
    const updates = follow({ url: named });
    expect((await request).headers.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
    expect(texts(await updates.next())).toEqual(['URL: the server answered 500 Internal Server Error']);
  });

  test('may redirect', async () => {
    handler = (request, response) =>
      request.url === '/pods'
        ? response.writeHead(302, { location: '/there' }).end()
        : response.writeHead(200).end(manifest('a'));
    expect(names(await follow().next())).toEqual(['a-node']);
  });

  test('may redirect on its own server with the headers, and to another one without them', async () => {
    const secret = { 'x-secret': ['hush'] };
    const seen: (string | undefined)[] = [];
    const note = ({ headers }: IncomingMessage) =>
      void seen.push(`${String(headers['x-secret'])} ${String(headers.authorization)}`);
    const other = createServer((request, response) => {
      note(request);
      if (request.url === '/there') response.writeHead(307, { location: `${url}/back` }).end();
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const there = `http://me:pass@127.0.0.1:${(other.address() as AddressInfo).port}/there`;
    handler = (request, response) => {
      note(request);
      if (request.url === '/pods') response.writeHead(302, { location: 'same' }).end();
      else if (request.url === '/same') response.writeHead(302, { location: there }).end();
      else response.writeHead(200).end(manifest('a'));
    };
    const withUser = url.replace('//', '//user:password@');
    expect(names(await follow({ url: withUser, headers: secret, checkFrequencyMs: 60_000 }).next())).toEqual([
      'a-node',
    ]);
    const own = `hush Basic ${Buffer.from('user:password').toString('base64')}`;
    expect(seen).toEqual([own, own, 'undefined undefined', 'undefined undefined']);
    await new Promise((resolve) => other.close(resolve));
  });

  test.each(['ftp://127.0.0.1/pods', 'file:///etc/passwd', 'http://['])(
    'may not redirect to %s',
    async (location) => {
      handler = answer(302, '', { location });
      expect(texts(await follow().next())).toEqual([
        'URL: cannot be fetched: the server redirected to what is no http or https URL',
      ]);
    },
  );

  test('is not requested after the last subscriber has left: the request under way is aborted', async () => {
    const asked = handledBy(() => undefined);
    follow();
    const request = await asked;
    const gone = new Promise((resolve) => request.socket.once('close', resolve));
    source?.close();
    await gone;
    const askers: unknown[] = [];
    handler = (asker, response) => {
      askers.push(asker.headers['x-asker']);
      response.writeHead(200).end(manifest(`a${askers.length}`));
    };
    const other = follow({ headers: { 'x-asker': ['other'] } });
    for (let count = 0; count < 5; count++) await other.next();
    expect(new Set(askers)).toEqual(new Set(['other']));
  });
});

const NO_ANSWER = 'URL: cannot be fetched: no answer within 1 s';
/** Short only if no answer is expected: on a busy machine other answers may be slow. */
const limitFor = (message: unknown) => ({ timeoutMs: message === NO_ANSWER ? 1_000 : 20_000 });

describe('an answer without a good manifest', () => {
  const cases: [string, Handler, string | RegExp][] = [
    ['an error', answer(500, 'oops'), 'URL: the server answered 500 Internal Server Error'],
    ['nothing found', answer(404, ''), 'URL: the server answered 404 Not Found'],
    ['no content', answer(204, ''), 'URL: the server answered 204 No Content'],
    ['nothing', answer(200, ''), 'URL: the answer is empty'],
    [
      'a web page',
      answer(200, '<!doctype html><title>Sign in</title>', { 'content-type': 'text/html; charset=utf-8' }),
      'URL: the answer is a web page, not a manifest: is there a login in the way?',
    ],
    [
      'an invalid pod',
      answer(200, manifest('a').replace('command', 'comand')),
      /^URL: spec.containers\[0\].comand: unknown field/,
    ],
    ['broken YAML', answer(200, 'a: [1'), /^URL: is not valid YAML: /],
    [
      'more than 10 MiB',
      answer(200, Buffer.alloc(11 * 1024 * 1024, '#')),
      'URL: the answer is larger than 10 MiB',
    ],
    [
      'a circle',
      answer(302, '', { location: '/pods' }),
      'URL: cannot be fetched: the server redirected more than 10 times',
    ],
    ['a broken connection', (request) => request.socket.destroy(), /^URL: cannot be fetched: /],
    [
      'half an answer',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('kind: Pod');
        setImmediate(() => response.destroy());
      },
      /^URL: cannot be fetched: /,
    ],
    ['no answer at all', () => undefined, NO_ANSWER],
  ];

  test.each(cases)('%s, as the first answer: the source is not seen', async (_name, bad, message) => {
    handler = bad;
    const update = await follow(limitFor(message)).next();
    expect(update.pods).toBeUndefined();
    expect(texts(update)).toEqual([expect.stringMatching(message)]);
  });

  test.each(cases)(
    '%s, after a good answer: the pods stay, and the problem is reported once',
    async (_name, bad, message) => {
      handler = answer(200, manifest('a'));
      const updates = follow(limitFor(message));
      const good = await updates.next();
      await handledBy(bad);
      await handledBy(bad);
      const broken = await updates.next();
      expect(broken.pods).toEqual(good.pods);
      expect(texts(broken)).toEqual([expect.stringMatching(message)]);
      handler = answer(200, manifest('a'));
      expect(await updates.next()).toEqual(good);
    },
  );

  test('a server that does not exist', async () => {
    // The local port of a client connection: it does not listen, and no server can take it meanwhile.
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(client, 'connect');
    const update = await follow({ url: `http://127.0.0.1:${client.localPort}/` }).next();
    client.destroy();
    expect(texts(update)).toEqual([expect.stringMatching(/cannot be fetched: .*ECONNREFUSED/)]);
  });

  test('an invalid URL', async () => {
    expect(texts(await follow({ url: 'nonsense' }).next())).toEqual([
      expect.stringMatching(/^nonsense: cannot be fetched: .*Invalid URL/),
    ]);
  });
});
