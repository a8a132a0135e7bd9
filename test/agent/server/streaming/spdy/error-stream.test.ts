import { afterEach, expect, test } from '@jest/globals';
import { readErrorStream } from '../../../../../src/agent/server/streaming/spdy/error-stream.ts';
import { SpdyConnection } from '../../../../../src/agent/server/streaming/spdy/spdy-connection.ts';
import type { SpdyStream } from '../../../../../src/agent/server/streaming/spdy/spdy-stream.ts';
import { socketPair } from '../../../../support/socket-pair.ts';

const opened: SpdyConnection[] = [];

afterEach(() => {
  for (const connection of opened.splice(0)) connection.destroy();
});

/** Both ends of one stream. */
async function openStream(): Promise<{ readonly near: SpdyStream; readonly far: SpdyStream }> {
  const [clientSocket, serverSocket] = await socketPair();
  const served = Promise.withResolvers<SpdyStream>();
  const onStream = (one: SpdyStream) => served.resolve(one);
  const server = new SpdyConnection(serverSocket, { side: 'server', accepts: () => true, onStream });
  const client = new SpdyConnection(clientSocket, { side: 'client' });
  opened.push(server, client);
  return { near: client.open(new Map([['streamtype', 'error']])), far: await served.promise };
}

test('the text of a runtime counts also if it resets the stream after it', async () => {
  const { near, far } = await openStream();
  const words = readErrorStream(near);
  const isRead = new Promise((resolve) => near.once('data', resolve));
  far.write('{"status":"Success"}');
  await isRead;
  far.destroy();
  expect(await words).toBe('{"status":"Success"}');
});

test('the text of a runtime is empty if it resets the stream at once', async () => {
  const { near, far } = await openStream();
  const words = readErrorStream(near);
  far.destroy();
  expect(await words).toBe('');
});

test('the text of a runtime that sends without end is cut off', async () => {
  const { near, far } = await openStream();
  const words = readErrorStream(near);
  far.on('error', () => undefined);
  for (let kib = 0; kib < 80; kib++) far.write('x'.repeat(1024));
  const { length } = await words;
  expect(length).toBeGreaterThan(0);
  expect(length).toBeLessThanOrEqual(65_536);
});
