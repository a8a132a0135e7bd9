import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { streamingRoutes } from '../../../../src/agent/server/streaming/streaming-routes.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { RouteServer } from '../../../support/route-server.ts';
import { spdyClient, upgrade, WebSocketClient } from '../../../support/streaming-client.ts';
import { HeldRuntime, streamingApi } from '../../../support/streaming-runtime.ts';

const EXEC = '/exec/shop/web/app';

let runtime: HeldRuntime;
let server: RouteServer;

beforeEach(async () => {
  runtime = new HeldRuntime();
  server = await new RouteServer(streamingRoutes(streamingApi(runtime))).open();
});

afterEach(() => {
  expect(server.defects).toEqual([]);
  server.close();
});

const at = (path: string) => `${server.url}${path}`;
const status = (text: string) => JSON.parse(text) as object;

describe('exec over SPDY', () => {
  test('carries input, output and the exit code', async () => {
    const client = await spdyClient(at(`${EXEC}?input=1&output=1&error=1&command=cat&command=-n`));
    const [error, stdin, stdout, stderr] = ['error', 'stdin', 'stdout', 'stderr'].map((type) =>
      client.open(type),
    );
    const command = await runtime.command();
    expect(runtime.asked).toEqual([
      {
        exec: {
          containerId: 'id-of-app',
          command: ['cat', '-n'],
          stdin: true,
          stdout: true,
          stderr: true,
          tty: false,
        },
      },
    ]);
    stdin!.end('typed');
    expect(await text(command.stdin!)).toBe('typed');
    command.stdout!.write('shown');
    command.stderr!.write('complaint');
    command.end(3);
    expect(await text(stdout!)).toBe('shown');
    expect(await text(stderr!)).toBe('complaint');
    expect(await text(error!)).toBe(
      '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit code 3",' +
        '"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}',
    );
    await client.connection.closed;
    expect(command.isAbandoned).toBe(false);
  });

  test('says Success for the exit code 0, and the reason of any other failure', async () => {
    const outcomes: object[] = [];
    for (const end of ['end', 'fail'] as const) {
      const client = await spdyClient(at(`${EXEC}?output=1`));
      const error = client.open('error');
      client.open('stdout').resume();
      const command = await runtime.command();
      if (end === 'end') command.end(0);
      else command.fail(new Error('no such program'));
      outcomes.push(status(await text(error)));
    }
    expect(outcomes).toEqual([
      { metadata: {}, status: 'Success' },
      {
        metadata: {},
        status: 'Failure',
        message: 'Internal error occurred: error executing command in container: no such program',
        reason: 'InternalError',
        details: { causes: [{ message: 'error executing command in container: no such program' }] },
        code: 500,
      },
    ]);
  });

  test.each([
    ['v5.channel.k8s.io', 'Failure'],
    ['v4.channel.k8s.io', 'Failure'],
    ['v3.channel.k8s.io', 'command terminated with non-zero exit code: exit code 2'],
    ['channel.k8s.io', 'command terminated with non-zero exit code: exit code 2'],
  ])('of protocol %s reports the outcome in the form of that version', async (protocol, outcome) => {
    const client = await spdyClient(at(`${EXEC}?output=1`), 'v9.channel.k8s.io', protocol);
    expect(client.protocol).toBe(protocol);
    const error = client.open('error');
    client.open('stdout').resume();
    (await runtime.command()).end(2);
    const received = await text(error);
    expect(received.startsWith('{') ? status(received) : received).toEqual(
      outcome === 'Failure' ? expect.objectContaining({ status: outcome }) : outcome,
    );
  });

  test('gives the terminal the sizes that the client sends', async () => {
    const client = await spdyClient(at(`${EXEC}?output=1&tty=1`));
    const error = client.open('error');
    client.open('stdout').resume();
    const sizes = client.open('resize').resume();
    sizes.write('{"Width":80,"Height":24}\n{"Width":100,');
    sizes.end('"Height":30}{"Width":1,"Height":"tall"}{"Width":2,"Height":2}');
    const command = await runtime.command();
    await new Promise<void>((resolve) => {
      const look = () => (command.sizes.length >= 2 ? resolve() : setImmediate(look));
      look();
    });
    command.end(0);
    await text(error);
    expect(command.sizes).toEqual([
      { width: 80, height: 24 },
      { width: 100, height: 30 },
    ]);
  });

  test('sends a large output whole to a client that reads late', async () => {
    const client = await spdyClient(at(`${EXEC}?output=1`));
    const error = client.open('error');
    const stdout = client.open('stdout');
    const command = await runtime.command();
    command.stdout!.end(Buffer.alloc(5_000_000, 'x'));
    command.end(0);
    await once(stdout, 'readable');
    expect((await text(stdout)).length).toBe(5_000_000);
    expect(status(await text(error))).toMatchObject({ status: 'Success' });
  });

  test('ignores input after the command has closed it', async () => {
    const client = await spdyClient(at(`${EXEC}?input=1&output=1`));
    const error = client.open('error');
    const stdin = client.open('stdin');
    client.open('stdout').resume();
    const command = await runtime.command();
    command.stdin!.destroy();
    await new Promise<void>((resolve) => {
      stdin.end(Buffer.alloc(1_000_000), () => resolve());
    });
    command.end(0);
    expect(status(await text(error))).toMatchObject({ status: 'Success' });
  });

  test('aborts the command when the client disappears', async () => {
    const client = await spdyClient(at(`${EXEC}?input=1&output=1`));
    for (const type of ['error', 'stdin', 'stdout']) client.open(type);
    const command = await runtime.command();
    client.close();
    await command.abandoned;
  });

  test('aborts the command when the client does not open all streams in time', async () => {
    const impatient = await new RouteServer(streamingRoutes(streamingApi(runtime), 200)).open();
    const client = await spdyClient(`${impatient.url}${EXEC}?input=1&output=1`);
    client.open('error');
    const command = await runtime.command();
    await command.abandoned;
    await client.connection.closed;
    impatient.close();
  });

  test('aborts the command when the client sends invalid frames', async () => {
    const answer = await upgrade(at(`${EXEC}?output=1`), ['v4.channel.k8s.io']);
    if (!('socket' in answer)) throw new Error('refused');
    answer.socket.end('GET / HTTP/1.1\r\n\r\n');
    await (
      await runtime.command()
    ).abandoned;
    await once(answer.socket.resume(), 'close');
  });
});

describe('attach', () => {
  test('has a terminal if the container has one, and then no stderr', async () => {
    const client = await spdyClient(at('/attach/shop/web/term?output=1&error=1&tty=0'));
    for (const type of ['error', 'stdout', 'resize']) client.open(type).resume();
    (await runtime.command()).end(0);
    expect(runtime.asked).toEqual([
      { attach: { containerId: 'id-of-term', stdin: false, stdout: true, stderr: false, tty: true } },
    ]);
    await client.connection.closed;
  });
});

describe('exec over a WebSocket', () => {
  const open = (query: string, ...protocols: readonly string[]) =>
    new WebSocketClient(at(`${EXEC}?${query}`), protocols).opened();

  test('of v5 carries all channels, and the end of the input', async () => {
    const client = await open('input=1&output=1&error=1', 'v5.channel.k8s.io', 'v4.channel.k8s.io');
    expect(client.socket.protocol).toBe('v5.channel.k8s.io');
    const command = await runtime.command();
    client.send(0, 'typed');
    client.send(255, Buffer.from([0]));
    expect(await text(command.stdin!)).toBe('typed');
    command.stdout!.write('shown');
    command.stderr!.write('complaint');
    command.end(0);
    await client.closed();
    expect(client.received(1)).toBe('shown');
    expect(client.received(2)).toBe('complaint');
    expect(status(client.received(3))).toEqual({ metadata: {}, status: 'Success' });
    // The first message is empty: it says that the connection stands.
    expect(client.messages[0]?.data).toEqual(Buffer.from([1]));
  });

  test('of v4 ends the command with the connection', async () => {
    const client = await open('input=1&output=1', 'v4.channel.k8s.io');
    const command = await runtime.command();
    client.socket.close();
    await command.abandoned;
  });

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io', 'channel.k8s.io'])(
    'of %s aborts the command when the client disappears, and serves the next one',
    async (protocol) => {
      const client = await open('input=1&output=1&error=1', protocol);
      const command = await runtime.command();
      client.socket.terminate();
      await command.abandoned;
      const next = await open('output=1', protocol);
      (await runtime.command()).end(0);
      await next.closed();
    },
  );

  test('in base64 has the numbers of channels as digits', async () => {
    const client = await open('input=1&output=1', 'v4.base64.channel.k8s.io');
    const command = await runtime.command();
    client.socket.send(`0${Buffer.from('typed').toString('base64')}`);
    client.socket.send('0no base64');
    expect(String((await once(command.stdin!, 'data'))[0])).toBe('typed');
    command.stdout!.write('shown');
    command.end(0);
    await client.closed();
    const texts = client.messages.map(({ data }) => data.toString());
    expect(texts).toContain(`1${Buffer.from('shown').toString('base64')}`);
    expect(texts.at(-1)?.startsWith('3')).toBe(true);
    expect(client.messages.some(({ isBinary }) => isBinary)).toBe(false);
  });

  test('without a protocol, or of one before v4, gets failures as text', async () => {
    const client = await open('output=1');
    expect(client.socket.protocol).toBe('');
    (await runtime.command()).end(1);
    await client.closed();
    expect(client.received(3)).toBe('command terminated with non-zero exit code: exit code 1');
  });

  test('accepts sizes of the terminal', async () => {
    const client = await open('output=1&tty=1', 'v5.channel.k8s.io');
    const command = await runtime.command();
    client.send(4, '{"Height":24,"Width":80}');
    await new Promise<void>((resolve) => {
      const look = () => (command.sizes.length > 0 ? resolve() : setImmediate(look));
      look();
    });
    command.end(0);
    await client.closed();
    expect(command.sizes).toEqual([{ width: 80, height: 24 }]);
  });

  test('stops a client that sends faster than the command reads, and loses nothing', async () => {
    const client = await open('input=1&output=1', 'v5.channel.k8s.io');
    const command = await runtime.command();
    for (let sent = 0; sent < 200; sent += 1) client.send(0, Buffer.alloc(32_768, 'x'));
    client.send(255, Buffer.from([0]));
    expect((await text(command.stdin!)).length).toBe(200 * 32_768);
    command.end(0);
    await client.closed();
  });
});

describe('a connection without any traffic', () => {
  const IDLE_MS = 500;
  let timed: RouteServer;

  beforeEach(async () => {
    const api = { ...streamingApi(runtime), streamingIdleMs: IDLE_MS };
    timed = await new RouteServer(streamingRoutes(api)).open();
  });
  afterEach(() => timed.close());

  test('of SPDY is closed after the idle time, and its command is aborted', async () => {
    const client = await spdyClient(`${timed.url}${EXEC}?input=1&output=1`);
    for (const type of ['error', 'stdin', 'stdout']) client.open(type).resume();
    const command = await runtime.command();
    await Promise.all([command.abandoned, client.connection.closed]);
  });

  test('of a WebSocket is closed after the idle time, and its command is aborted', async () => {
    const client = new WebSocketClient(`${timed.url}${EXEC}?input=1&output=1`, ['v5.channel.k8s.io']);
    await client.opened();
    const command = await runtime.command();
    await Promise.all([command.abandoned, client.closed()]);
  });

  test('of a port-forward is closed after the idle time', async () => {
    const client = await spdyClient(`${timed.url}/portForward/shop/web`, 'portforward.k8s.io');
    await client.connection.closed;
  });

  test('that is passed on to the runtime is closed after the idle time, at both ends', async () => {
    const carrier = createServer().on('upgrade', (_request, socket: Duplex) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
      socket.resume().once('end', () => {
        socket.end();
        carrier.close();
      });
    });
    await once(carrier.listen(0, '127.0.0.1'), 'listening');
    runtime.url = new URL(`http://127.0.0.1:${(carrier.address() as AddressInfo).port}/token`);
    const closed = once(carrier, 'close');
    const answer = await upgrade(`${timed.url}${EXEC}?output=1`, ['v4.channel.k8s.io']);
    if (!('socket' in answer)) throw new Error('refused');
    await Promise.all([once(answer.socket.resume(), 'close'), closed]);
  });
});

describe('requests that are refused', () => {
  const refused = async (
    path: string,
    protocols: readonly string[] = ['v4.channel.k8s.io'],
    headers = {},
  ) => {
    const answer = await upgrade(at(path), protocols, headers);
    if (!('status' in answer)) throw new Error('was accepted');
    return { status: answer.status, body: answer.body };
  };

  test.each([
    [`${EXEC}?command=ls`, 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    ['/exec/shop/other/app?output=1', 404, 'pod does not exist'],
    ['/exec/shop/web/ended?output=1', 500, 'container not found ("ended")'],
    ['/attach/shop/web/ended?output=1', 500, 'container ended not found in pod web_shop'],
    ['/attach/shop/web/u-2/app?output=1', 500, 'pod web_shop not found'],
    ['/portForward/shop/other', 404, 'pod does not exist'],
    ['/portForward/shop/web/u-2', 404, 'pod not found'],
  ])('%s: %i', async (path, code, body) => {
    expect(await refused(path)).toEqual({ status: code, body });
    expect(runtime.startedCount).toBe(0);
  });

  test('for their protocol, before a command is started', async () => {
    expect(await refused(`${EXEC}?output=1`, ['v9.channel.k8s.io'])).toMatchObject({ status: 403 });
    expect(await refused(`${EXEC}?output=1`, [])).toEqual({
      status: 400,
      body: 'unable to upgrade: X-Stream-Protocol-Version is required\n',
    });
    expect(await refused(`${EXEC}?output=1`, ['v4.channel.k8s.io'], { Upgrade: 'h2c' })).toMatchObject({
      status: 400,
    });
    const oldWebSocket = { Upgrade: 'websocket', 'Sec-WebSocket-Version': '8' };
    expect(await refused(`${EXEC}?output=1`, [], oldWebSocket)).toEqual({
      status: 400,
      body: 'missing or bad WebSocket Version\n',
    });
    expect(await refused('/portForward/shop/web', ['v4.channel.k8s.io'])).toMatchObject({ status: 403 });
    expect(runtime.startedCount).toBe(0);
  });

  test('for the protocol of a WebSocket, and a token among the protocols is not repeated', async () => {
    const client = new WebSocketClient(at(`${EXEC}?output=1`), [
      'base64url.bearer.authorization.k8s.io.c2VjcmV0',
      'v9.channel.k8s.io',
    ]);
    const [, response] = (await once(client.socket, 'unexpected-response')) as [
      unknown,
      NodeJS.ReadableStream,
    ];
    const body = await text(response);
    expect(body).toContain('requested protocol(s) are not supported: [v9.channel.k8s.io]');
    expect(body).not.toContain('c2VjcmV0');
    client.socket.terminate();
  });

  test.each([
    ['NotFound', 404, undefined],
    ['ResourceExhausted', 429, '60'],
    ['FailedPrecondition', 500, undefined],
  ] as const)('by the runtime with %s: %i', async (kind, code, retryAfter) => {
    runtime.refusal = new StateletError(kind, 'the runtime says no');
    const answer = await upgrade(at(`${EXEC}?output=1`), ['v4.channel.k8s.io']);
    expect(answer).toMatchObject({ status: code, body: 'the runtime says no' });
    expect('headers' in answer ? answer.headers['retry-after'] : '').toBe(retryAfter);
  });

  test('because they ask for no upgrade', async () => {
    const answer = await server.ask(`${EXEC}?output=1`, 'POST');
    expect(answer).toMatchObject({
      status: 500,
      body: 'Upgrade request required\n',
      headers: { 'x-content-type-options': 'nosniff' },
    });
    expect(await server.ask('/exec/shop/web/ended?output=1', 'POST')).toMatchObject({
      status: 500,
      body: 'container not found ("ended")',
    });
    expect(await server.ask('/attach/shop/web/u-2/app?output=1', 'GET')).toMatchObject({
      status: 500,
      body: 'pod web_shop not found',
    });
    expect((await server.ask('/portForward/shop/web', 'GET')).status).toBe(500);
    expect((await server.ask(EXEC, 'GET')).status).toBe(400);
    expect(runtime.startedCount).toBe(0);
  });
});
