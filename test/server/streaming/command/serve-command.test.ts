/** Commands whose streams a runtime carries at a server of its own, as containerd does. */
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { exitStatus } from '../../../../src/server/streaming/command/command-status.ts';
import { pingFrame } from '../../../../src/server/streaming/spdy/spdy-frames.ts';
import { streamingRoutes } from '../../../../src/server/streaming/streaming-routes.ts';
import { GoRuntime, type OpenedStreams, writeAll } from '../../../support/go-runtime.ts';
import { RouteServer } from '../../../support/route-server.ts';
import { distinctBytes, hashOf, readSlowly } from '../../../support/slow-reader.ts';
import { spdyClient, tunnelClient, upgrade, WebSocketClient } from '../../../support/streaming-client.ts';
import { HeldRuntime, streamingApi } from '../../../support/streaming-runtime.ts';

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

test('a WebSocket client that names no protocol is answered as by the server of a runtime', async () => {
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

test('a runtime that tells the outcome, and then neither ends its streams nor closes the connection, holds no client', async () => {
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
