import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { errnoCode } from '../../../src/system/system-errors.ts';
import { boundedServer, close, hostPort, listen, SERVER_LIMITS } from '../../../src/agent/server/listen.ts';

const LISTENER = { host: '127.0.0.1', port: 0, what: '/pods', portFlag: '--port', hostFlag: '--address' };
/** Longer than any test. */
const NEVER_MS = 600_000;
const PATIENT = { ...SERVER_LIMITS, requestMs: NEVER_MS, checkMs: 5, idleMs: NEVER_MS };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of closing.splice(0).reverse()) await end();
});

const OK: RequestListener = (_request, response) => response.end('ok');

async function serve(limits = PATIENT, onRequest = OK): Promise<number> {
  const server = boundedServer(limits, onRequest);
  const port = await listen(server, LISTENER);
  closing.push(() => close(server));
  return port;
}

/** A client that sends this text, and keeps its side of the connection open. */
function client(port: number, sent: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(sent);
  closing.push(() => socket.destroy());
  return socket;
}

/**
 * The answer to this text. A server that is too busy to read it within its limit closes the connection with bytes unread: then the
 * kernel drops the answer, and the text is sent once more.
 */
async function answerTo(port: number, sent: string): Promise<string> {
  for (;;) {
    try {
      return await text(client(port, sent));
    } catch (error) {
      if (errnoCode(error) !== 'ECONNRESET') throw error;
    }
  }
}

const WHOLE_REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

describe('a client that is slow', () => {
  test('and does not send all headers in time gets 408 and is disconnected', async () => {
    const port = await serve({ ...PATIENT, requestMs: 20 });
    const answer = await answerTo(port, 'GET / HTTP/1.1\r\nHost: local');
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  test('and does not send the whole body in time gets 408 and is disconnected', async () => {
    const port = await serve({ ...PATIENT, requestMs: 20 }, () => undefined);
    const answer = await answerTo(
      port,
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  test('and sends nothing at all is disconnected', async () => {
    const port = await serve({ ...PATIENT, idleMs: 20 });
    expect(await text(client(port, ''))).toBe('');
  });

  test('within the limits gets its answer', async () => {
    const port = await serve();
    const socket = client(port, WHOLE_REQUEST.slice(0, 20));
    await once(socket, 'connect');
    await new Promise(setImmediate);
    socket.write(WHOLE_REQUEST.slice(20));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

test('headers that are too large lead to 431', async () => {
  const port = await serve({ ...PATIENT, headerBytesMax: 1_000 });
  const answer = await text(client(port, `GET / HTTP/1.1\r\nCookie: ${'x'.repeat(2_000)}\r\n\r\n`));
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
});

describe('beyond the limit of connections', () => {
  test.each([
    ['nothing', ''],
    ['half a request', 'GET / HTTP/1.1\r\nHost: loc'],
  ])('those that sent %s give their places to new ones, the oldest first', async (_, sent) => {
    const port = await serve({ ...PATIENT, connectionsMax: 2 });
    const silent = Array.from({ length: 20 }, () => client(port, sent));
    const closed = Promise.all(silent.slice(0, 19).map((socket) => text(socket)));
    expect(await text(client(port, WHOLE_REQUEST))).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(await closed).toEqual(Array.from({ length: 19 }, () => ''));
    expect(silent.at(-1)?.destroyed).toBe(false);
  });

  test('one with a request under way keeps its place; where all have one, the new one is closed', async () => {
    const { promise: allAsked, resolve } = Promise.withResolvers<unknown>();
    const answers: ServerResponse[] = [];
    const onRequest: RequestListener = (_request, response) => {
      answers.push(response);
      if (answers.length === 2) resolve(undefined);
    };
    const port = await serve({ ...PATIENT, connectionsMax: 2 }, onRequest);
    const asking = [client(port, WHOLE_REQUEST), client(port, WHOLE_REQUEST)];
    await allAsked;
    expect(await text(client(port, WHOLE_REQUEST))).toBe('');
    for (const response of answers) response.end('ok');
    for (const socket of asking) expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});

describe('where all connections have requests under way', () => {
  /** Counts answers until as many have been begun. */
  function begun(count: number) {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let left = count;
    const one = () => {
      left -= 1;
      if (left === 0) resolve(undefined);
    };
    return { promise, one };
  }

  test('a client that does not read its answer gives its place to a new one', async () => {
    const { promise, one } = begun(2);
    const onRequest: RequestListener = (request, response) => {
      if (request.url === '/ok') response.end('ok');
      else {
        response.end(Buffer.alloc(32 * 2 ** 20));
        one();
      }
    };
    const port = await serve({ ...PATIENT, connectionsMax: 2 }, onRequest);
    for (let count = 0; count < 2; count += 1) client(port, WHOLE_REQUEST).pause();
    await promise;
    expect(await text(client(port, WHOLE_REQUEST.replace('/', '/ok')))).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  test.each([
    [false, ''],
    [true, 'HTTP/1.1 200 OK'],
  ])('the oldest stream ends for a new one, if the server says so (%s)', async (endsStreams, expected) => {
    const { promise, one } = begun(2);
    const onRequest: RequestListener = (request, response) => {
      if (request.url === '/ok') response.end('ok');
      else response.write('event', one);
    };
    const port = await serve({ ...PATIENT, connectionsMax: 2, endsStreams }, onRequest);
    const streams = Array.from({ length: 2 }, () => client(port, WHOLE_REQUEST));
    await promise;
    const answer = await text(client(port, WHOLE_REQUEST.replace('/', '/ok')));
    expect(answer.slice(0, 15)).toBe(expected);
    if (endsStreams) await text(streams[0]!);
    expect(streams[1]?.closed).toBe(false);
  });
});

describe('an address that cannot be bound', () => {
  test('is an error that names the flag for the port when the port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    closing.push(() => taken.close());
    const { port } = taken.address() as AddressInfo;
    await expect(listen(boundedServer(SERVER_LIMITS, OK), { ...LISTENER, port })).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(`cannot serve /pods on 127.0.0.1:${port}: the port is in use.*--port`),
    });
  });

  test('is an error that names the flag for the address when this machine does not have it', async () => {
    await expect(
      listen(boundedServer(SERVER_LIMITS, OK), { ...LISTENER, host: '192.0.2.1' }),
    ).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching('this machine has no such address; choose another with --address'),
    });
  });
});

test('an IPv6 address stands in brackets', () => {
  expect([hostPort('::1', 1), hostPort('127.0.0.1', 2)]).toEqual(['[::1]:1', '127.0.0.1:2']);
});
