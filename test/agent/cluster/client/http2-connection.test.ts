/** What only HTTP/2 has: many requests on one connection, and its ends in good order. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { firstValueFrom, ReplaySubject, toArray } from 'rxjs';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { loopbackCertificates } from '../../../support/api/http-bed.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';
import { waitFor } from '../../../support/wait-for.ts';

const NODE = { resource: 'nodes', name: 'n' } as const;
const WATCH = { resourceVersion: '5', timeoutSeconds: 60 };

describe('a connection of HTTP/2', () => {
  let certificates: ReturnType<typeof loopbackCertificates>;
  const ends: (() => unknown)[] = [];

  beforeAll(() => {
    certificates = loopbackCertificates();
  });
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  afterAll(() => certificates.remove());

  interface Opened {
    readonly server?: string;
    readonly pingAfterMs?: number;
    readonly pingTimeoutMs?: number;
  }
  type OnStream = (stream: ServerHttp2Stream, path: string, count: number) => void;

  async function serve(onStream: OnStream, maxConcurrentStreams = 100) {
    const { files, ca } = certificates;
    const server: Http2SecureServer = createSecureServer({
      cert: readFileSync(files.cert),
      key: readFileSync(files.key),
      settings: { maxConcurrentStreams },
    });
    const sessions: ServerHttp2Session[] = [];
    let streams = 0;
    server.on('session', (session) => {
      sessions.push(session);
      session.on('error', () => undefined);
    });
    server.on('stream', (stream, headers) => {
      streams += 1;
      stream.on('error', () => undefined);
      onStream(stream, headers[':path'] ?? '', streams);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    ends.push(() => {
      for (const session of sessions) session.destroy();
      server.close();
    });
    const observer = new ObservedConnection();
    const open = ({ server: url = `https://127.0.0.1:${port}`, ...pings }: Opened = {}) => {
      const credentials = new FixedCredentials({ server: url, ca, headers: {} });
      const clients = openApiClients(credentials, observer, {
        userAgent: 'statelet/test',
        env: {},
        ...pings,
      });
      ends.push(clients.close);
      return clients;
    };
    return { sessions, port, open, observer, streams: () => streams };
  }

  const answer = (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200 });
    stream.end('{}');
  };
  /** Watches stay open, other requests are answered. */
  const serving: OnStream = (stream, path) => {
    if (!path.includes('watch=true')) {
      answer(stream);
      return;
    }
    stream.respond({ ':status': 200 });
    stream.write('\n');
  };

  test('with as many watches as the server allows: another connection is opened for the next request', async () => {
    const { sessions, open, observer } = await serve(serving, 3);
    const { main } = open();
    for (let count = 1; count <= 5; count += 1) {
      const watch = main.watch({ resource: 'nodes' }, WATCH).subscribe();
      ends.push(() => watch.unsubscribe());
      await waitFor(() => observer.heard.length === count, { what: `watch ${count}` });
    }
    expect(await main.get(NODE)).toEqual({});
    expect(sessions).toHaveLength(2);
  });

  test('a request that the server refuses to take is made again, on another connection if need be', async () => {
    const { open, streams } = await serve((stream, _path, count) => {
      if (count < 3) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else answer(stream);
    });
    expect(await open().main.patch(NODE, {})).toEqual({});
    expect(streams()).toBe(3);
  });

  test('a request to a server that refuses everything fails after four tries', async () => {
    const { open, streams } = await serve((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    await expect(open().main.patch(NODE, {})).rejects.toThrow(/takes no more requests/);
    expect(streams()).toBe(4);
  });

  test('a server that closes with GOAWAY still answers the requests that it took, and later ones use another connection', async () => {
    let watch: ServerHttp2Stream | undefined;
    const { sessions, open, observer } = await serve((stream, path, count) => {
      if (path.includes('watch=true')) watch = stream;
      serving(stream, path, count);
    });
    const { main } = open();
    const events = new ReplaySubject<object>();
    main.watch({ resource: 'nodes' }, WATCH).subscribe(events);
    await waitFor(() => observer.heard.length === 1, { what: 'the watch' });
    sessions[0]?.goaway(constants.NGHTTP2_NO_ERROR);
    const isElsewhere = async () => {
      await main.get(NODE);
      return sessions.length === 2;
    };
    await waitFor(isElsewhere, { what: 'another connection' });
    watch?.end('{"type":"ADDED","object":{}}\n');
    expect(await firstValueFrom(events.pipe(toArray()))).toHaveLength(1);
    expect(new Set(observer.heard)).toEqual(new Set(['answered']));
  });

  test('a peer that is only silent gets a ping, and is not dead', async () => {
    const { sessions, open, observer } = await serve(serving);
    const { main } = open({ pingAfterMs: 10 });
    const watch = main.watch({ resource: 'nodes' }, WATCH).subscribe();
    ends.push(() => watch.unsubscribe());
    await waitFor(() => observer.heard.length === 1, { what: 'the watch' });
    const [session] = sessions;
    for (let pings = 0; session !== undefined && pings < 3; pings += 1) await once(session, 'ping');
    expect(observer.heard).toEqual(['answered']);
  });

  test('a peer that does not answer a ping is dead: requests under way fail, and the next one opens a new connection', async () => {
    const { port, open, observer, sessions } = await serve(serving);
    const proxy = await new TcpProxy(`127.0.0.1:${port}`).open();
    ends.push(() => proxy.close());
    const { main } = open({ server: `https://${proxy.host}`, pingAfterMs: 50, pingTimeoutMs: 1000 });
    const watched = firstValueFrom(main.watch({ resource: 'nodes' }, WATCH));
    await waitFor(() => observer.heard.length === 1, { what: 'the watch' });
    proxy.freeze();
    await expect(watched).rejects.toThrow(/no answer to a ping in 1 s: the connection is dead/);
    expect(await main.get(NODE)).toEqual({});
    expect(sessions).toHaveLength(2);
  });
});
