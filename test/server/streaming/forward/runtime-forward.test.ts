/** Port-forward over a WebSocket, with a runtime that carries the connections itself. */
import { afterEach, expect, test } from '@jest/globals';
import { streamingRoutes } from '../../../../src/server/streaming/streaming-routes.ts';
import { GoRuntime, type OpenedStreams, writeAll } from '../../../support/go-runtime.ts';
import { RouteServer } from '../../../support/route-server.ts';
import { distinctBytes, hashOf } from '../../../support/slow-reader.ts';
import { WebSocketClient } from '../../../support/streaming-client.ts';
import { HeldRuntime, streamingApi } from '../../../support/streaming-runtime.ts';

/** More than the system holds between two ends of a connection. */
const OUTPUT = distinctBytes(20_000_000);

/** A runtime leaves the connection to its client: other ports may be asked for. */
const unlessClosed = new Promise<void>(() => undefined);

let runtime: GoRuntime | undefined;
let node: RouteServer | undefined;
afterEach(() => {
  expect(node?.defects).toEqual([]);
  runtime?.close();
  node?.close();
});

async function forwardTo(serve: (opened: OpenedStreams) => Promise<void>): Promise<WebSocketClient> {
  runtime = await GoRuntime.open(2, serve);
  const asked = new HeldRuntime();
  asked.url = runtime.url;
  node = await new RouteServer(streamingRoutes(streamingApi(asked))).open();
  return new WebSocketClient(`${node.url}/portForward/shop/web?port=80`, ['v4.channel.k8s.io']).opened();
}

test('a slow client that goes on sending gets all that the pod has sent, and then the end of the connection', async () => {
  const client = await forwardTo(async (opened) => {
    await writeAll(opened.get('data'), OUTPUT);
    for (const stream of opened.values()) stream.end();
    await unlessClosed;
  });
  const { socket } = client;
  socket.on('message', () => {
    socket.pause();
    setTimeout(() => socket.resume(), 4);
  });
  const timer = setInterval(() => {
    if (socket.readyState !== socket.OPEN) return;
    socket.ping();
    client.send(0, 'more');
  }, 20);
  await client.closed();
  clearInterval(timer);
  // The first two bytes name the port.
  expect(hashOf(client.receivedBytes(0).subarray(2))).toBe(hashOf(OUTPUT));
});

test("the runtime's words for a failure reach the client after what came before", async () => {
  const client = await forwardTo(async (opened) => {
    await writeAll(opened.get('data'), Buffer.from('some'));
    opened.get('data')?.end();
    await writeAll(opened.get('error'), Buffer.from('connection reset by the pod'));
    opened.get('error')?.end();
    await unlessClosed;
  });
  await client.closed();
  expect(client.received(0).slice(2)).toBe('some');
  expect(client.received(1).slice(2)).toBe('connection reset by the pod');
});

test('what the client sends reaches the pod', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<string>();
  const client = await forwardTo(async (opened) => {
    opened.get('data')?.on('data', (data: Buffer) => resolve(data.toString()));
    await asked;
  });
  client.send(0, 'question');
  expect(await asked).toBe('question');
  await client.closed();
});
