/** How present versions of kubectl ask an API server for streams, and what the server of a node gets. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Router } from '../../../src/agent/server/node/router.ts';
import { serveRoutes } from '../../../src/agent/server/node/serve-routes.ts';
import { RequestError } from '../../../src/agent/server/routes/route.ts';
import { SpdyConnection } from '../../../src/agent/server/streaming/spdy/spdy-connection.ts';
import { streamingRoutes } from '../../../src/agent/server/streaming/streaming-routes.ts';
import { describeOnControlPlane } from '../control-plane.ts';
import { socketPair } from '../socket-pair.ts';
import { tunnelClient, WebSocketClient } from '../streaming-client.ts';
import { HeldRuntime, streamingApi } from '../streaming-runtime.ts';

const POD = '/api/v1/namespaces/shop/pods/web';
const V5 = ['v5.channel.k8s.io'];
const TUNNEL = 'SPDY/3.1+portforward.k8s.io';

describeOnControlPlane('streams of WebSockets that can be ended one by one', (controlPlane) => {
  const runtime = new HeldRuntime();
  /** By which protocols the node was asked. */
  let upgrades: string[] = [];
  const defects: unknown[] = [];
  let node: Server;

  const declare = (features: readonly string[]) =>
    controlPlane.patch('/api/v1/nodes/held/status', { status: { declaredFeatures: features } });

  async function command(query: string, subresource = 'exec'): Promise<WebSocketClient> {
    const url = `${controlPlane.server}${POD}/${subresource}?${query}`;
    return new WebSocketClient(url, V5, controlPlane.details('admin')).opened();
  }

  beforeAll(async () => {
    const { ca, nodeIp } = controlPlane;
    const { cert, key } = ca.filesOf('node-serving');
    const [caText, certText, keyText] = [ca.files.cert, cert, key].map((file) => readFileSync(file, 'utf8'));
    node = createServer({ ca: caText, cert: certText, key: keyText, requestCert: true });
    const router = new Router(streamingRoutes(streamingApi(runtime)));
    const onDefect = (error: unknown) => void defects.push(error);
    node.on('upgrade', ({ method, headers }) => {
      upgrades.push(`${method} ${headers.upgrade} ${headers['x-stream-protocol-version']?.toString()}`);
    });
    serveRoutes(node, {
      find: ({ path }) => router.find(path),
      notFound: new RequestError(404, 'no route'),
      onDefect,
    });
    await once(node.listen(0, nodeIp), 'listening');
    await controlPlane.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'held' } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web', namespace: 'shop' },
        spec: {
          nodeName: 'held',
          containers: ['app', 'term', 'ended'].map((name) => ({ name, image: 'x', tty: name === 'term' })),
        },
      },
    );
    const { port } = node.address() as AddressInfo;
    const addresses = [{ type: 'InternalIP', address: nodeIp }];
    const daemonEndpoints = { kubeletEndpoint: { Port: port } };
    await controlPlane.patch('/api/v1/nodes/held/status', { status: { addresses, daemonEndpoints } });
  });

  beforeEach(() => {
    upgrades = [];
  });

  afterAll(() => {
    node.closeAllConnections();
    node.close();
    expect(defects).toEqual([]);
  });

  test('exec reaches the node as SPDY: both outputs, the end of the input, and the exit code', async () => {
    const client = await command('container=app&command=sh&stdin=true&stdout=true&stderr=true');
    const started = await runtime.command();
    expect(upgrades).toEqual([expect.stringMatching(/^POST SPDY\/3\.1 v5\.channel\.k8s\.io/u)]);
    client.send(0, 'typed');
    client.send(255, Buffer.from([0]));
    expect(await text(started.stdin!)).toBe('typed');
    const output = Buffer.alloc(2_000_000, 'a line of text\n');
    started.stdout!.write(output);
    started.stderr!.write('warned');
    started.end(7);
    await client.closed();
    expect(client.receivedBytes(1).equals(output)).toBe(true);
    expect(client.received(2)).toBe('warned');
    expect(JSON.parse(client.received(3))).toMatchObject({
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    });
  });

  test('attach to a terminal passes its sizes on, and success', async () => {
    const client = await command('container=term&stdin=true&stdout=true&tty=true', 'attach');
    const started = await runtime.command();
    client.send(4, '{"Width":80,"Height":24}');
    client.send(0, 'typed');
    await once(started.stdin!, 'data');
    while (started.sizes.length === 0) await new Promise(setImmediate);
    expect(started.sizes).toEqual([{ width: 80, height: 24 }]);
    started.end(0);
    await client.closed();
    expect(JSON.parse(client.received(3))).toMatchObject({ status: 'Success' });
    expect(upgrades).toEqual([expect.stringMatching(/^POST SPDY\/3\.1/u)]);
  });

  test('the refusal of the node is the outcome of the command', async () => {
    const client = await command('container=ended&command=sh&stdout=true');
    await client.closed();
    expect(JSON.parse(client.received(3))).toMatchObject({
      status: 'Failure',
      message: 'Internal error occurred: unable to upgrade connection: container not found ("ended")',
    });
  });

  test('forwarded connections reach the node as SPDY, and each side ends by itself', async () => {
    const [connection, server] = await socketPair();
    runtime.connect = () => Promise.resolve<Duplex>(connection);
    const url = `${controlPlane.server}${POD}/portforward`;
    const { socket, protocol } = await tunnelClient(url, TUNNEL, controlPlane.details('admin'));
    expect(protocol).toBe(TUNNEL);
    expect(upgrades).toEqual(['POST SPDY/3.1 portforward.k8s.io']);
    const spdy = new SpdyConnection(socket, { side: 'client' });
    const open = (streamtype: string) =>
      spdy.open(new Map(Object.entries({ streamtype, port: '80', requestid: '0' })));
    const error = open('error').end();
    const data = open('data');
    data.end('asked');
    expect(await text(server)).toBe('asked');
    server.end(Buffer.alloc(300_000, 'x'));
    expect((await text(data)).length).toBe(300_000);
    expect(await text(error)).toBe('');
    spdy.destroy();
  });

  test('a node that takes such WebSockets, and says so, gets them as they are', async () => {
    await declare(['ExtendWebSocketsToKubelet']);
    const client = await command('container=app&command=sh&stdout=true');
    (await runtime.command()).end(0);
    await client.closed();
    await declare([]);
    expect(JSON.parse(client.received(3))).toMatchObject({ status: 'Success' });
    expect(upgrades).toEqual(['GET websocket undefined']);
  });
});
