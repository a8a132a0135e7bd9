import { createServer, type ServerHttp2Stream } from 'node:http2';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { GrpcClient } from '../../../src/system/grpc/grpc-client.ts';
import { prefixOf } from '../../../src/system/grpc/grpc-frames.ts';
import { field, message, string } from '../../../src/system/protobuf.ts';
import { systemClock } from '../../../src/system/timer.ts';

const TEXT = message<{ text: string }>({ text: field(1, string) });
const METHOD = { name: 'Watch', path: '/test.Test/Watch', request: TEXT, response: TEXT };

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** What the client hears of a server that answers as `serve` does, up to the text `last`. */
async function heard(serve: (stream: ServerHttp2Stream) => void, last = 'last', messageBytesMax = 1000) {
  const folder = mkdtempSync(join(tmpdir(), 'latest-'));
  const path = join(folder, 'socket');
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    serve(stream);
  });
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  const client = new GrpcClient('test', path);
  const stop = new AbortController();
  ends.push(() => {
    stop.abort();
    client.close();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const texts: string[] = [];
  const done = Promise.withResolvers<string[]>();
  client
    .watch(
      METHOD,
      { text: '' },
      {
        clock: systemClock,
        messageBytesMax,
        signal: stop.signal,
        onMessage: (bytes) => {
          texts.push(TEXT.decode(bytes).text);
          if (texts.at(-1) === last) done.resolve(texts);
        },
      },
    )
    .then(() => done.resolve(texts), done.reject);
  return done.promise;
}

function send(stream: ServerHttp2Stream, text: string): void {
  const bytes = TEXT.encode({ text });
  stream.write(Buffer.concat([prefixOf([bytes]), bytes]));
}

test('of messages that come in a flood the first and the last are passed on, and few between them', async () => {
  const texts = await heard((stream) => {
    for (let index = 0; index < 5000; index++) send(stream, String(index));
    send(stream, 'last');
  });
  expect(texts.at(-1)).toBe('last');
  expect(texts.length).toBeLessThan(500);
});

test('a message that comes in pieces is passed on whole', async () => {
  const texts = await heard((stream) => {
    const bytes = TEXT.encode({ text: 'last' });
    for (const byte of Buffer.concat([prefixOf([bytes]), bytes])) stream.write(Buffer.of(byte));
  });
  expect(texts).toEqual(['last']);
});

test('a message that says that it is longer than allowed ends the stream', async () => {
  await expect(heard((stream) => void stream.write(Buffer.of(0, 1, 0, 0, 0)))).rejects.toThrow(
    'the answer is longer than 1000 bytes',
  );
});

test('a stream that ends well is no error', async () => {
  await expect(heard((stream) => void stream.end(), 'never')).resolves.toEqual([]);
});
