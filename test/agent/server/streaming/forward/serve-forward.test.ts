import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SpdyConnection } from '../../../../../src/agent/server/streaming/spdy/spdy-connection.ts';
import { streamingRoutes } from '../../../../../src/agent/server/streaming/streaming-routes.ts';
import { GoRuntime, type OpenedStreams, writeAll } from '../../../../support/go-runtime.ts';
import { RouteServer } from '../../../../support/route-server.ts';
import { distinctBytes, hashOf } from '../../../../support/slow-reader.ts';
import {
  spdyClient,
  type SpdyClient,
  tunnelClient,
  WebSocketClient,
} from '../../../../support/streaming-client.ts';
import { HeldRuntime, streamingApi } from '../../../../support/streaming-runtime.ts';

let runtime: HeldRuntime;
let server: RouteServer;

const at = (path: string) => `${server.url}${path}`;

describe('port-forward', () => {
  beforeEach(async () => {
    runtime = new HeldRuntime();
    server = await new RouteServer(streamingRoutes(streamingApi(runtime))).open();
  });

  afterEach(() => {
    expect(server.defects).toEqual([]);
    server.close();
  });

  let echo: Server;

  beforeEach(async () => {
    echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
    runtime.connect = async (port) => {
      if (port === 9) throw new Error('connect ECONNREFUSED');
      const socket = connect({
        port: (echo.address() as AddressInfo).port,
        host: '127.0.0.1',
        allowHalfOpen: true,
      });
      await once(socket, 'connect');
      return socket;
    };
  });

  afterEach(() => void echo.close());

  function forward(client: Pick<SpdyClient, 'open'>, port: number, requestid: string) {
    const more = { port: String(port), requestid };
    return { error: client.open('error', more), data: client.open('data', more) };
  }

  test('over SPDY carries many connections at once', async () => {
    const client = await spdyClient(at('/portForward/shop/web'), 'portforward.k8s.io');
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const { error, data } = forward(client, 80, String(index));
        data.end(`message ${index}`);
        return [await text(data), await text(error)];
      }),
    );
    expect(answers).toEqual(answers.map((_, index) => [`message ${index}`, '']));
    client.close();
  });

  test('sends the failure of a connection on its error stream; the others go on', async () => {
    const client = await spdyClient(at('/portForward/shop/web'), 'portforward.k8s.io');
    const { error } = forward(client, 9, '1');
    expect(await text(error)).toBe('error forwarding port 9 to pod web_shop, uid u-1: connect ECONNREFUSED');
    const { data } = forward(client, 80, '2');
    data.end('still there');
    expect(await text(data)).toBe('still there');
    client.close();
  });

  test('refuses streams without a port or with an unknown type', async () => {
    const client = await spdyClient(at('/portForward/shop/web'), 'portforward.k8s.io');
    await once(client.open('data'), 'close');
    for (const port of ['0', '65536', 'x']) {
      await once(client.open('data', { port }), 'close');
    }
    await once(client.open('stdin', { port: '80' }), 'close');
    client.close();
  });

  test('fails when the second stream does not come', async () => {
    const impatient = await new RouteServer(streamingRoutes(streamingApi(runtime), 200)).open();
    const client = await spdyClient(`${impatient.url}/portForward/shop/web`, 'portforward.k8s.io');
    const error = client.open('error', { port: '80', requestid: '7' });
    expect(await text(error)).toContain('timed out waiting for streams');
    client.close();
    impatient.close();
  });

  test('closes its connections when the client disappears', async () => {
    const accepted = once(echo, 'connection');
    const client = await spdyClient(at('/portForward/shop/web'), 'portforward.k8s.io');
    forward(client, 80, '1').data.write('x');
    const [socket] = (await accepted) as [NodeJS.ReadableStream];
    client.close();
    await once(socket, 'close');
    expect(runtime.forwardersClosed).toBe(1);
  });

  test('in the messages of a WebSocket is the same SPDY', async () => {
    const { socket, protocol } = await tunnelClient(at('/portForward/shop/web'));
    expect(protocol).toBe('SPDY/3.1+portforward.k8s.io');
    const spdy = new SpdyConnection(socket, { side: 'client' });
    const open = (type: string, more: Readonly<Record<string, string>> = {}) =>
      spdy.open(new Map(Object.entries({ streamtype: type, ...more })));
    const { error, data } = forward({ open }, 80, '1');
    data.end(Buffer.alloc(1_000_000, 'y'));
    expect((await text(data)).length).toBe(1_000_000);
    expect(await text(error)).toBe('');
    spdy.destroy();
    await spdy.closed;
  });

  test('over a WebSocket gives a slow client all that the pod sends before it ends the connection', async () => {
    const output = distinctBytes(20_000_000);
    const pod = createServer((socket) => void socket.on('error', () => undefined).end(output));
    await once(pod.listen(0, '127.0.0.1'), 'listening');
    runtime.connect = async () => {
      const { port } = pod.address() as AddressInfo;
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      await once(socket, 'connect');
      return socket;
    };
    const url = at('/portForward/shop/web?port=80');
    const client = await new WebSocketClient(url, ['v4.channel.k8s.io']).opened();
    client.socket.on('message', () => {
      client.socket.pause();
      setTimeout(() => client.socket.resume(), 4);
    });
    await client.closed();
    pod.close();
    expect(hashOf(client.receivedBytes(0).subarray(2))).toBe(hashOf(output));
  });

  test('over a WebSocket with the ports in the query has two channels for each', async () => {
    const client = await new WebSocketClient(at('/portForward/shop/web?port=80,9'), [
      'v4.channel.k8s.io',
    ]).opened();
    client.send(0, 'hello');
    await client.until(() => client.received(0).length >= 7 && client.received(3).length > 2);
    expect(client.messages.map(({ data }) => data.toString('hex'))).toEqual(
      expect.arrayContaining(['005000', '015000', '020900', '030900']),
    );
    expect(client.received(0).slice(2)).toBe('hello');
    expect(client.received(3)).toContain('error forwarding port 9 to pod web_shop');
    expect(runtime.asked).toEqual([{ portForward: { podSandboxId: 'sandbox', ports: [80, 9] } }]);
    client.socket.close();
    await client.closed();
  });
});

describe('port-forward by the server of the runtime', () => {
  /** More than the system holds between two ends of a connection. */
  const OUTPUT = distinctBytes(20_000_000);

  /** A runtime leaves the connection to its client: other ports may be asked for. */
  const unlessClosed = new Promise<void>(() => undefined);

  let runtimeServer: GoRuntime | undefined;

  let node: RouteServer | undefined;

  afterEach(() => {
    expect(node?.defects).toEqual([]);
    runtimeServer?.close();
    node?.close();
  });

  async function forwardTo(serve: (opened: OpenedStreams) => Promise<void>): Promise<WebSocketClient> {
    runtimeServer = await GoRuntime.open(2, serve);
    const asked = new HeldRuntime();
    asked.url = runtimeServer.url;
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
});
