/** Commands whose streams a runtime carries at a server of its own, as containerd does. */
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import type { CommandStreams } from '../../../../../src/agent/runtime/service/streaming-runtime.ts';
import { exitStatus } from '../../../../../src/agent/server/streaming/command/command-status.ts';
import {
  openRuntimeCommand,
  reachRuntime,
} from '../../../../../src/agent/server/streaming/command/serve-command.ts';
import { SpdyConnection } from '../../../../../src/agent/server/streaming/spdy/spdy-connection.ts';
import { pingFrame } from '../../../../../src/agent/server/streaming/spdy/spdy-frames.ts';
import { streamingRoutes } from '../../../../../src/agent/server/streaming/streaming-routes.ts';
import { GoRuntime, type OpenedStreams, writeAll } from '../../../../support/go-runtime.ts';
import { RouteServer } from '../../../../support/route-server.ts';
import { distinctBytes, hashOf, readSlowly } from '../../../../support/slow-reader.ts';
import { socketPair } from '../../../../support/socket-pair.ts';
import { spdyClient, tunnelClient, upgrade, WebSocketClient } from '../../../../support/streaming-client.ts';
import { HeldRuntime, streamingApi } from '../../../../support/streaming-runtime.ts';

/** More than the system holds between two ends of a connection. */
const OUTPUT = distinctBytes(20_000_000);
const WHOLE = { bytes: OUTPUT.length, hash: hashOf(OUTPUT) };
const EXEC = '/exec/shop/web/app?output=1';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function nodeWith(serve: (opened: OpenedStreams) => Promise<void>, streams = 2): Promise<string> {
  const runtime = await GoRuntime.open(streams, serve);
  const asked = new HeldRuntime();
  asked.url = runtime.url;
  const node = await new RouteServer(streamingRoutes(streamingApi(asked))).open();
  closers.push(
    () => runtime.close(),
    () => node.close(),
    () => expect(node.defects).toEqual([]),
  );
  return node.url;
}

const outputThen = (outcome: object) => async (opened: OpenedStreams) => {
  await writeAll(opened.get('stdout'), OUTPUT);
  await writeAll(opened.get('error'), Buffer.from(JSON.stringify(outcome)));
};

/** As kubectl and the API server ask every five seconds whether the connection stands. */
function pinging(ping: () => void): void {
  const timer = setInterval(ping, 20);
  closers.push(() => clearInterval(timer));
}

test('a slow SPDY client that sends pings reads all of the output, and then the exit code', async () => {
  const client = await spdyClient(`${await nodeWith(outputThen(exitStatus(3)))}${EXEC}`);
  const [error, stdout] = ['error', 'stdout'].map((type) => client.open(type));
  const outcome = text(error!);
  let id = 1;
  pinging(() => client.socket.write(pingFrame((id += 2))));
  expect(await readSlowly(stdout!, 5)).toEqual(WHOLE);
  expect(JSON.parse(await outcome)).toMatchObject({ details: { causes: [{ message: '3' }] } });
});

test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])(
  'a slow WebSocket client of %s that sends pings reads all of the output, and then the exit code',
  async (protocol) => {
    const url = `${await nodeWith(outputThen(exitStatus(3)))}${EXEC}`;
    const client = await new WebSocketClient(url, [protocol]).opened();
    const { socket } = client;
    pinging(() => {
      if (socket.readyState === socket.OPEN) socket.ping();
    });
    socket.on('message', () => {
      socket.pause();
      setTimeout(() => socket.resume(), 10);
    });
    await client.closed();
    expect(hashOf(client.receivedBytes(1))).toBe(WHOLE.hash);
    expect(JSON.parse(client.received(3))).toMatchObject({ details: { causes: [{ message: '3' }] } });
  },
);

test('a client that opens no streams starts no command', async () => {
  let started = 0;
  const url = await nodeWith(() => Promise.resolve(void (started += 1)), 1);
  const answer = await upgrade(`${url}${EXEC}`, ['v4.channel.k8s.io']);
  if ('socket' in answer) answer.socket.destroy();
  const client = await spdyClient(`${url}${EXEC}`);
  for (const type of ['error', 'stdout']) client.open(type).resume();
  await client.connection.closed;
  expect(started).toBe(1);
});

test('a WebSocket client that names no protocol gets the same answer as from the server of a runtime', async () => {
  const url = new URL(`${await nodeWith(outputThen(exitStatus(0)))}${EXEC}`);
  const answer = await tunnelClient(url.href, '');
  expect(answer.protocol).toBe('');
  answer.socket.destroy();
});

test('a command whose runtime breaks its connection has failed, rather than ended early', async () => {
  const url = await nodeWith((opened) => writeAll(opened.get('stdout'), Buffer.from('some')));
  const client = await spdyClient(`${url}${EXEC}`);
  const [error, stdout] = ['error', 'stdout'].map((type) => client.open(type));
  expect(await text(stdout!)).toBe('some');
  expect(JSON.parse(await text(error!))).toMatchObject({
    status: 'Failure',
    message:
      'Internal error occurred: error executing command in container: the container runtime closed the connection before the ' +
      'command ended',
  });
});

test("the runtime's own words for a failure reach the client as they are", async () => {
  const failure = {
    metadata: {},
    status: 'Failure',
    message: 'Internal error occurred: error executing command in container: no such program',
    reason: 'InternalError',
    details: { causes: [{ message: 'error executing command in container: no such program' }] },
    code: 500,
  };
  const client = await spdyClient(`${await nodeWith(outputThen(failure))}${EXEC}`);
  const [error, stdout] = ['error', 'stdout'].map((type) => client.open(type));
  stdout!.resume();
  expect(JSON.parse(await text(error!))).toEqual(failure);
});

test('a runtime that sends the outcome, and then neither ends its streams nor closes the connection, blocks no client', async () => {
  const never = new Promise<void>(() => undefined);
  const url = await nodeWith(async (opened) => {
    await outputThen(exitStatus(0))(opened);
    await never;
  });
  const client = await spdyClient(`${url}${EXEC}`);
  const [error, stdout] = ['error', 'stdout'].map((type) => client.open(type));
  expect(await readSlowly(stdout!, 0)).toEqual(WHOLE);
  expect(JSON.parse(await text(error!))).toEqual(exitStatus(0));
});

const RUNTIME_OUTPUT = distinctBytes(2_000_001);

const ERRORS = distinctBytes(300_003);

const SELECTED = { stdin: true, stdout: true, stderr: true, tty: false };

let runtime: GoRuntime | undefined;

let command: CommandStreams | undefined;

afterEach(() => {
  command?.abandon();
  runtime?.close();
});

async function commandOf(serve: (opened: OpenedStreams) => Promise<void>): Promise<CommandStreams> {
  runtime = await GoRuntime.open(4, serve);
  const socket = await reachRuntime(runtime.url, new AbortController().signal);
  return (command = openRuntimeCommand(socket, SELECTED));
}

const outcome = (opened: OpenedStreams) =>
  writeAll(opened.get('error'), Buffer.from(JSON.stringify(exitStatus(9))));

async function output(opened: OpenedStreams): Promise<void> {
  await Promise.all([writeAll(opened.get('stdout'), RUNTIME_OUTPUT), writeAll(opened.get('stderr'), ERRORS)]);
}

test.each([
  ['ends its streams before it tells the outcome', 'first'],
  ['leaves the end of its streams to the end of the connection', 'never'],
  ['ends its streams after the outcome', 'last'],
] as const)('a slow reader gets all of the output of a runtime that %s', async (_, ends) => {
  const end = (opened: OpenedStreams) => ['stdout', 'stderr'].map((type) => opened.get(type)?.end());
  const { stdout, stderr, exit } = await commandOf(async (opened) => {
    await output(opened);
    if (ends === 'first') end(opened);
    await outcome(opened);
    if (ends === 'last') end(opened);
  });
  const read = Promise.all([readSlowly(stdout!, 4), readSlowly(stderr!, 1)]);
  expect(await exit).toBe(9);
  expect(await read).toEqual([
    { bytes: RUNTIME_OUTPUT.length, hash: hashOf(RUNTIME_OUTPUT) },
    { bytes: ERRORS.length, hash: hashOf(ERRORS) },
  ]);
});

test('a slow reader gets also what comes after the outcome', async () => {
  const { stdout, stderr, exit } = await commandOf(async (opened) => {
    const written = output(opened);
    await outcome(opened);
    await written;
  });
  const read = Promise.all([readSlowly(stdout!, 4), readSlowly(stderr!, 1)]);
  expect(await exit).toBe(9);
  expect((await read).map(({ bytes }) => bytes)).toEqual([RUNTIME_OUTPUT.length, ERRORS.length]);
});

test('input that the command does not read any more does not lose its output', async () => {
  const { stdin, stdout, stderr, exit } = await commandOf(async (opened) => {
    await output(opened);
    await outcome(opened);
  });
  const read = Promise.all([readSlowly(stdout!, 4), readSlowly(stderr!, 1)]);
  await exit;
  stdin!.write('typed');
  stdin!.end(Buffer.alloc(100_000));
  expect((await read).map(({ bytes }) => bytes)).toEqual([RUNTIME_OUTPUT.length, ERRORS.length]);
});

test('the outcome is known even if the runtime does not end its stream', async () => {
  const { stdout, stderr, exit } = await commandOf(async (opened) => {
    await outcome(opened);
    await new Promise<void>(() => undefined);
  });
  stdout!.resume();
  stderr!.resume();
  expect(await exit).toBe(9);
});

test('a client that is gone at once leaves after the runtime has answered all of its streams', async () => {
  const [near, far] = await socketPair();
  const left = openRuntimeCommand(near, SELECTED);
  const exit = left.exit.catch((error: unknown) => error);
  left.abandon();
  const answered: string[] = [];
  const connection = new SpdyConnection(far, {
    side: 'server',
    onStream: (stream) => void answered.push(stream.headers.get('streamtype') ?? ''),
  });
  await connection.closed;
  expect(await exit).toMatchObject({ kind: 'Unavailable' });
  expect(answered).toEqual(['error', 'stdin', 'stdout', 'stderr']);
});
