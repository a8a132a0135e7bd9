import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SECURE_LIMITS } from '../../../../src/agent/server/node/secure-server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { NodeServerBed, ADMIN, TestReviews } from '../../../support/node-server-bed.ts';

let bed: NodeServerBed;
beforeEach(() => {
  bed = new NodeServerBed();
});
afterEach(() => bed.close());

/** The head of a TLS record of 512 bytes, and the first of them. */
const CLIENT_HELLO = Buffer.from('16030102000100', 'hex');

describe('a client that is not known', () => {
  const limits = {
    ...SECURE_LIMITS,
    unauthenticated: { socketsMax: 2, graceMs: 60_000, burstMax: 3, bytesMax: 2 ** 18 },
    headersMs: 300,
  };
  const closed = async (socket: TLSSocket) => (socket.closed ? undefined : once(socket.resume(), 'close'));

  test('that opens many connections loses the oldest, and does not keep authorized clients out', async () => {
    const { tls, ask } = await bed.open({
      limits: { ...limits, headersMs: 30_000 },
      reviews: new TestReviews(),
    });
    const known = await tls(ADMIN);
    known.write('GET /pods HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(known, 'data');
    const sockets = [];
    for (let index = 0; index < 8; index += 1) sockets.push(await tls());
    await Promise.all(sockets.slice(0, 5).map(closed));
    expect(sockets.slice(5).every((socket) => !socket.closed)).toBe(true);
    expect(await ask('/pods', ADMIN)).toMatchObject({ status: 200 });
    known.write('GET /pods HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(known, 'data');
  });

  test.each([
    ['nothing', ''],
    ['half a TLS handshake', CLIENT_HELLO],
  ])(
    'that opens hundreds of connections, and sends %s on them, keeps no other client out',
    async (_, sent) => {
      const { port, ask } = await bed.open({ reviews: new TestReviews() });
      const silent = Array.from({ length: 600 }, () =>
        connect(port, '127.0.0.1').on('error', () => undefined),
      );
      await Promise.all(silent.map((socket) => once(socket, 'connect')));
      for (const socket of silent) socket.write(sent);
      expect(await ask('/pods', ADMIN)).toMatchObject({ status: 200 });
      await waitFor(() => silent.filter(({ closed }) => closed).length >= 600 - 256, {
        what: 'the oldest to go',
      });
      expect(await ask('/pods', ADMIN)).toMatchObject({ status: 200 });
      for (const socket of silent) socket.destroy();
    },
  );

  test('that opens some connections has time to authenticate, and then loses the oldest too', async () => {
    const unauthenticated = { ...limits.unauthenticated, socketsMax: 1, graceMs: 10_000, burstMax: 10 };
    const { tls } = await bed.open({ limits: { ...limits, headersMs: 30_000, unauthenticated } });
    const sockets = await Promise.all([tls(), tls(), tls()]);
    expect(sockets.every((socket) => !socket.closed)).toBe(true);
    await Promise.race(sockets.map(closed));
    await waitFor(() => sockets.filter((socket) => !socket.closed).length === 1, { what: 'one to be left' });
  });

  test('that holds back the end of its headers is cut off', async () => {
    const { tls } = await bed.open({ limits });
    const slow = await tls();
    slow.write('GET /pods HTTP/1.1\r\nHost: a\r\nX: ');
    expect(await text(slow)).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/u);
  });

  test('that sends much without end is cut off', async () => {
    const { tls } = await bed.open({ limits: { ...limits, headersMs: 60_000 } });
    const large = await tls();
    large.write(`GET /pods HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(2 ** 19)}`);
    await closed(large);
  });

  test('that sends more than 1 MiB of headers gets 431', async () => {
    const { tls } = await bed.open();
    const socket = await tls();
    socket.write(`GET /pods HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(2 ** 20 + 4096)}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 431 .*\r\n\r\n431 Request Header Fields Too Large$/su);
  });

  test.each([
    'nonsense\r\n\r\n',
    'GET /pods HTTP/9.9\r\n\r\n',
    'GET pods HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST /pods HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    'GET ?x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  ])('that sends %j gets 400', async (sent) => {
    const { tls } = await bed.open();
    const socket = await tls();
    socket.write(sent);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n.*\r\n\r\n400 Bad Request$/su);
  });

  test('that speaks no TLS is cut off', async () => {
    const { port } = await bed.open();
    const plain = connect(port, '127.0.0.1');
    plain.on('error', () => undefined);
    plain.write('GET /pods HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(plain.resume(), 'close');
  });
});
