import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { LoopbackForwarder } from '../../src/embedded/process-streaming.ts';
import { textOf } from '../support/stream-bed.ts';
import { isFree } from '../support/free-port.ts';

let forwarder: LoopbackForwarder;
let servers: Server[];
let accepted: Socket[];
beforeEach(() => {
  forwarder = new LoopbackForwarder();
  servers = [];
  accepted = [];
});
afterEach(() => {
  forwarder.close();
  for (const server of servers) server.close();
  for (const socket of accepted) socket.destroy();
});

/** A server on a free port of the address, which nobody else has at 127.0.0.1: that is tried first. */
async function serve(host: string, onConnection: (socket: Socket) => void): Promise<number> {
  for (;;) {
    const port = await serveAnywhere(host, onConnection);
    if (host === '127.0.0.1' || (await isFree(port))) return port;
  }
}

async function serveAnywhere(host: string, onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket);
    onConnection(socket);
  }).listen(0, host);
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test.each(['127.0.0.1', '::1'])('a port is found on %s, and each direction ends on its own', async (host) => {
  const port = await serve(host, (socket) => {
    void textOf(socket).then((words) => socket.end(`${words.length} bytes`));
  });
  const connection = await forwarder.connect(port);
  connection.end(Buffer.alloc(1_000_000));
  expect(await textOf(connection)).toBe('1000000 bytes');
});

test('a port where nothing listens is an error that names it and both tries', async () => {
  const port = await serve('127.0.0.1', () => undefined);
  const [server] = servers.splice(0);
  server?.close();
  await once(server ?? process, 'close');
  await expect(forwarder.connect(port)).rejects.toMatchObject({
    kind: 'Unavailable',
    message: expect.stringMatching(new RegExp(`port ${port} .*127\\.0\\.0\\.1:${port}.*::1:${port}`)),
  });
});

test('closing it ends all connections, and no new one is made', async () => {
  const port = await serve('127.0.0.1', (socket) => socket.on('error', () => undefined).resume());
  const connections = await Promise.all([forwarder.connect(port), forwarder.connect(port)]);
  const closed = connections.map((connection) => once(connection, 'close'));
  forwarder.close();
  await Promise.all(closed);
  await expect(forwarder.connect(port)).rejects.toMatchObject({ kind: 'Canceled' });
});

test('a connection that the server breaks ends without an unhandled error', async () => {
  const port = await serve('127.0.0.1', (socket) => socket.once('data', () => socket.resetAndDestroy()));
  const connection = await forwarder.connect(port);
  connection.write('words');
  await new Promise((resolve) => connection.once('close', resolve));
  expect(connection.destroyed).toBe(true);
});
