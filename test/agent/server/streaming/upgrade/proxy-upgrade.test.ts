/** A runtime that carries the streams at a server of its own: here a second server, whose commands the test holds. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { SpdyConnection } from '../../../../../src/agent/server/streaming/spdy/spdy-connection.ts';
import { streamingRoutes } from '../../../../../src/agent/server/streaming/streaming-routes.ts';
import { joinSockets } from '../../../../../src/agent/server/streaming/upgrade/proxy-upgrade.ts';
import { RouteServer } from '../../../../support/route-server.ts';
import { socketPair } from '../../../../support/socket-pair.ts';
import { spdyClient, tunnelClient, upgrade, WebSocketClient } from '../../../../support/streaming-client.ts';
import { HeldRuntime, streamingApi } from '../../../../support/streaming-runtime.ts';

const EXEC = '/exec/shop/web/app';

let runtime: HeldRuntime;
let carrier: RouteServer;
let node: RouteServer;
let asked: HeldRuntime;

beforeEach(async () => {
  runtime = new HeldRuntime();
  carrier = await new RouteServer(streamingRoutes(streamingApi(runtime))).open();
  asked = new HeldRuntime();
  node = await new RouteServer(streamingRoutes(streamingApi(asked))).open();
});

afterEach(() => {
  jest.restoreAllMocks();
  expect([...node.defects, ...carrier.defects]).toEqual([]);
  node.close();
  carrier.close();
});

/** The runtime's URL for what the client asks of the node. */
function carriedAt(path: string): string {
  asked.url = new URL(`${carrier.url}${path}`);
  return `${node.url}${path}`;
}

test('SPDY goes through in both directions, to the end of the command', async () => {
  const client = await spdyClient(carriedAt(`${EXEC}?input=1&output=1`));
  const [error, stdin, stdout] = ['error', 'stdin', 'stdout'].map((type) => client.open(type));
  const command = await runtime.command();
  stdin!.end('typed');
  expect(await text(command.stdin!)).toBe('typed');
  command.stdout!.end(Buffer.alloc(2_000_000, 'x'));
  command.end(0);
  expect((await text(stdout!)).length).toBe(2_000_000);
  expect(await text(error!)).toBe('{"metadata":{},"status":"Success"}');
  await client.connection.closed;
});

test('the runtime notices a client that disappears', async () => {
  const client = await spdyClient(carriedAt(`${EXEC}?output=1`));
  for (const type of ['error', 'stdout']) client.open(type);
  const command = await runtime.command();
  client.close();
  await command.abandoned;
});

test('a WebSocket of v4 goes through', async () => {
  const client = await new WebSocketClient(carriedAt(`${EXEC}?output=1`), ['v4.channel.k8s.io']).opened();
  const command = await runtime.command();
  command.stdout!.write('shown');
  command.end(0);
  await client.closed();
  expect(client.received(1)).toBe('shown');
});

test('a WebSocket of v5 is translated to SPDY', async () => {
  const url = carriedAt(`${EXEC}?input=1&output=1&tty=1`);
  const client = await new WebSocketClient(url, ['v5.channel.k8s.io']).opened();
  const command = await runtime.command();
  client.send(4, '{"Width":80,"Height":24}');
  client.send(0, 'typed');
  client.send(255, Buffer.from([0]));
  expect(await text(command.stdin!)).toBe('typed');
  while (command.sizes.length === 0) await new Promise(setImmediate);
  command.stdout!.write('shown');
  command.end(7);
  await client.closed();
  expect(client.received(1)).toBe('shown');
  expect(JSON.parse(client.received(3))).toMatchObject({ details: { causes: [{ message: '7' }] } });
  expect(command.sizes).toEqual([{ width: 80, height: 24 }]);
});

test('SPDY in a WebSocket is unwrapped for the runtime', async () => {
  const { socket } = await tunnelClient(carriedAt('/portForward/shop/web'));
  const spdy = new SpdyConnection(socket, { side: 'client' });
  const open = (streamtype: string) =>
    spdy.open(new Map(Object.entries({ streamtype, port: '80', requestid: '1' })));
  const error = open('error');
  open('data').resume();
  expect(await text(error)).toContain('nothing listens');
  spdy.destroy();
});

test('the refusal of the runtime reaches the client', async () => {
  const url = carriedAt(`${EXEC}?output=1`);
  asked.url = new URL(`${carrier.url}/exec/shop/other/app?output=1`);
  const refused = { status: 404, body: 'pod does not exist' };
  expect(await upgrade(url, ['v4.channel.k8s.io'])).toMatchObject(refused);
});

test('credentials for the node do not reach the runtime, and a redirect is not followed', async () => {
  const seen: string[] = [];
  const other: Server = createServer((request, response) => {
    seen.push(...request.rawHeaders.map((header) => header.toLowerCase()));
    response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
  });
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const url = carriedAt(`${EXEC}?output=1`);
  asked.url = new URL(`http://127.0.0.1:${(other.address() as AddressInfo).port}/token`);
  const answer = await upgrade(url, ['v4.channel.k8s.io'], { Authorization: 'Bearer secret' });
  expect(answer).toMatchObject({ status: 500, body: 'invalid upgrade response: status code 302\n' });
  expect(seen).toContain('x-stream-protocol-version');
  expect(seen.join()).not.toContain('secret');
  other.close();
});

test('a runtime that cannot be reached is an error', async () => {
  const url = carriedAt(`${EXEC}?output=1`);
  asked.url = new URL('http://127.0.0.1:1/token');
  expect(await upgrade(url, ['v4.channel.k8s.io'])).toMatchObject({ status: 500 });
});

test('the connection to the runtime is closed with a client that has ended before, whatever the runtime still says', async () => {
  const [client, near] = await socketPair();
  const [far, carried] = await socketPair();
  joinSockets(near, far);
  carried.on('error', () => undefined).write('more');
  client.resume().end('typed');
  await once(near, 'end');
  near.destroy();
  await once(far, 'close');
  carried.destroy();
});

test('a connection to the runtime that has ended leaves no timer behind, however long its client stays', async () => {
  const timers = jest.spyOn(globalThis, 'setTimeout');
  const [client, near] = await socketPair();
  const [far, carried] = await socketPair();
  joinSockets(near, far);
  carried.resume().end('the end');
  client.resume();
  await Promise.all([once(client, 'end'), once(far, 'close')]);
  const before = timers.mock.calls.length;
  client.end();
  await once(near, 'close');
  expect(timers.mock.calls.length).toBe(before);
  carried.destroy();
});
