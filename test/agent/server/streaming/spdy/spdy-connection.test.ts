import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { SpdyConnection } from '../../../../../src/agent/server/streaming/spdy/spdy-connection.ts';
import {
  dataHead,
  pingFrame,
  SpdyFrameReader,
  synStreamFrame,
} from '../../../../../src/agent/server/streaming/spdy/spdy-frames.ts';
import { SpdyHeaderWriter } from '../../../../../src/agent/server/streaming/spdy/spdy-headers.ts';
import type { SpdyStream } from '../../../../../src/agent/server/streaming/spdy/spdy-stream.ts';
import { distinctBytes, hashOf, readSlowly } from '../../../../support/slow-reader.ts';
import { socketPair } from '../../../../support/socket-pair.ts';
import { seededRandom, type SeededRandom } from '../../../../../src/simulation/plan/seeded-random.ts';

const randomBytes = (chance: SeededRandom, length: number) =>
  Buffer.from(Array.from({ length }, () => chance.integer(0, 255)));

const opened: SpdyConnection[] = [];

afterEach(() => {
  for (const connection of opened.splice(0)) connection.destroy();
});

function serve(socket: Duplex, onStream: (stream: SpdyStream) => void): SpdyConnection {
  const accepts = (headers: ReadonlyMap<string, string>) => headers.get('streamtype') !== 'refused';
  const connection = new SpdyConnection(socket, { side: 'server', accepts, onStream });
  opened.push(connection);
  return connection;
}

interface Ends {
  readonly client: SpdyConnection;
  readonly server: SpdyConnection;
}

async function connect(onStream: (stream: SpdyStream) => void): Promise<Ends> {
  const [near, far] = await socketPair();
  const server = serve(far, onStream);
  const client = new SpdyConnection(near, { side: 'client' });
  opened.push(client);
  return { client, server };
}

const headers = (type: string) => new Map([['streamtype', type]]);

/** Waits until the number stays the same over many turns of the event loop. */
async function settled(number: () => number): Promise<void> {
  for (let same = 0, last = -1; same < 200; same += 1) {
    if (number() !== last) same = 0;
    last = number();
    await new Promise(setImmediate);
  }
}

describe('streams of a connection', () => {
  test('carry bytes both ways, and each direction ends for itself', async () => {
    const { client } = await connect((stream) => stream.pipe(stream));
    const one = client.open(headers('a'));
    const two = client.open(headers('b'));
    one.end('first');
    two.end(Buffer.alloc(300_000, 'x'));
    expect(await text(one)).toBe('first');
    expect((await text(two)).length).toBe(300_000);
  });

  test('are read to their end after our side has ended the connection: a slow reader loses nothing that has come', async () => {
    const { client } = await connect((stream) => {
      stream.on('error', () => undefined).write(Buffer.alloc(60_000, 'x'));
    });
    const stream = client.open(headers('stdout'));
    await settled(() => stream.readableLength);
    client.end();
    expect((await text(stream)).length).toBe(60_000);
  });

  test('have the headers with which they were opened', async () => {
    const { promise, resolve } = Promise.withResolvers<SpdyStream>();
    const { client } = await connect(resolve);
    client.open(headers('stdin'));
    const stream = await promise;
    expect(stream.headers).toEqual(headers('stdin'));
    expect(stream.id).toBe(1);
  });

  test('that are refused are closed before anything is sent', async () => {
    const seen: SpdyStream[] = [];
    const { client } = await connect((stream) => seen.push(stream));
    const stream = client.open(headers('refused'));
    stream.write('lost');
    await once(stream, 'close');
    expect(seen).toEqual([]);
  });

  test('that one side gives up are closed on the other', async () => {
    const { client } = await connect((stream) => stream.destroy());
    const stream = client.open(headers('a'));
    await once(stream.resume(), 'close');
    const other = client.open(headers('refused'));
    await once(other, 'close');
  });

  test('whose reader is behind stop the writer', async () => {
    const { promise, resolve } = Promise.withResolvers<SpdyStream>();
    const { client } = await connect(resolve);
    const stream = client.open(headers('a'));
    const total = 400 * 65_536;
    stream.end(Buffer.alloc(total));
    const served = await promise;
    await once(served, 'readable');
    await settled(() => served.readableLength);
    expect(served.readableLength).toBeLessThan(1_000_000);
    let bytes = 0;
    for await (const chunk of served) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(total);
  });

  test('end with their connection', async () => {
    const { client, server } = await connect((stream) => stream.resume());
    const stream = client.open(headers('a'));
    await new Promise<void>((resolve) => {
      stream.write('x', () => resolve());
    });
    server.destroy();
    await once(stream.resume(), 'close');
    await client.closed;
  });
});

test.each(['breaks', 'is destroyed'])(
  'a connection that %s ends although the reader of a stream of the server is behind',
  async (end) => {
    const [near, far] = await socketPair();
    const { promise, resolve } = Promise.withResolvers<SpdyStream>();
    const server = serve(far, resolve);
    const client = new SpdyConnection(near, { side: 'client' });
    opened.push(client);
    client.open(headers('stdin')).write(Buffer.alloc(2_000_000));
    const served = await promise;
    await once(served, 'readable');
    await settled(() => served.readableLength);
    if (end === 'breaks') {
      near.resetAndDestroy();
      // A reset is noticed with the next write.
      await once(near, 'close');
      const writing = setInterval(() => served.write('x'), 1);
      await server.closed.finally(() => clearInterval(writing));
    } else {
      server.destroy();
      await server.closed;
    }
    // What has come can still be read.
    await once(served.resume(), 'close');
  },
);

test('the end of a connection lets the peer read what was sent before', async () => {
  const { client } = await connect((stream) => {
    stream.resume().end('last words', () => opened[0]?.end());
  });
  const stream = client.open(headers('a'));
  expect(await text(stream)).toBe('last words');
  await client.closed;
});

describe('a connection that one side ends', () => {
  test('lets what was written before be sent, in whatever pieces', async () => {
    const bytes = distinctBytes(5_000_000);
    const { promise, resolve } = Promise.withResolvers<SpdyStream>();
    const { client, server } = await connect(resolve);
    const stream = client.open(headers('a'));
    (await promise).resume().write(bytes);
    server.end();
    expect(await readSlowly(stream, 2)).toEqual({ bytes: bytes.length, hash: hashOf(bytes) });
  });

  test('lets a client read what the server still sends, and is closed after that', async () => {
    const { promise, resolve } = Promise.withResolvers<SpdyStream>();
    const { client } = await connect(resolve);
    const stream = client.open(headers('a'));
    const served = (await promise).resume();
    client.end();
    for (let piece = 0; piece < 20; piece += 1) {
      await new Promise<void>((written) => served.write('x'.repeat(50_000), () => written()));
    }
    served.end('end');
    expect((await text(stream)).endsWith('xend')).toBe(true);
    await client.closed;
  });

  test('closes a client whose server neither ends its streams nor says anything more', async () => {
    const { promise, resolve } = Promise.withResolvers<SpdyStream>();
    const { client } = await connect(resolve);
    const stream = client.open(headers('a')).resume();
    (await promise).resume().write('the last');
    await once(stream, 'data');
    client.end();
    await Promise.all([once(stream, 'end'), client.closed]);
  });

  test('by the server is closed by the client: until then the server reads and answers', async () => {
    const [near, far] = await socketPair();
    const server = serve(far, (stream) => stream.resume());
    server.end();
    const reader = new SpdyFrameReader();
    const heard: string[] = [];
    for await (const chunk of near) {
      for (const { type } of reader.push(chunk as Buffer)) {
        heard.push(type);
        if (type === 'goAway') near.write(pingFrame(1));
      }
      if (heard.includes('ping')) break;
    }
    expect(heard).toEqual(['goAway', 'ping']);
    await server.closed;
  });
});

test('data that came before the connection broke is still read, also by a reader who then writes', async () => {
  const { client } = await connect(
    (stream) => void stream.resume().write('last words', () => opened[0]?.destroy()),
  );
  const stream = client.open(headers('a'));
  await once(stream, 'readable');
  await client.closed;
  stream.write('into nothing');
  expect(String(stream.read())).toBe('last words');
  await once(stream, 'close');
});

test('data that came before the peer reset a stream is still read', async () => {
  const { client } = await connect((stream) => {
    stream.resume().write('last words', () => stream.destroy());
  });
  const stream = client.open(headers('a'));
  const { promise, resolve } = Promise.withResolvers<string>();
  // Read only when the reset has come too.
  stream.once('readable', () => setTimeout(() => resolve(String(stream.read())), 50));
  expect(await promise).toBe('last words');
});

/** Reads what a server sends to a client that speaks in raw bytes. */
async function answersTo(bytes: Buffer, frames: number): Promise<object[]> {
  const [near, far] = await socketPair();
  serve(far, (stream) => stream.resume());
  near.write(bytes);
  const reader = new SpdyFrameReader();
  const answers: object[] = [];
  for await (const chunk of near) {
    answers.push(...reader.push(chunk as Buffer));
    if (answers.length >= frames) break;
  }
  return answers;
}

describe('a server', () => {
  test('answers pings of the client, and accepts the answers to its own', async () => {
    expect(await answersTo(Buffer.concat([pingFrame(2), pingFrame(5)]), 1)).toEqual([
      { type: 'ping', id: 5 },
    ]);
  });

  test('refuses stream ids that are used, or that are its own', async () => {
    const writer = new SpdyHeaderWriter();
    const open = (id: number) => synStreamFrame(id, writer.write(headers('a')));
    const answers = await answersTo(Buffer.concat([open(3), open(3), open(1), open(4)]), 4);
    expect(answers.map((answer) => (answer as { type: string }).type)).toEqual([
      'synReply',
      'reset',
      'reset',
      'reset',
    ]);
  });

  test('ignores data for streams that do not exist', async () => {
    const bytes = Buffer.concat([dataHead(9, 3, true), Buffer.from('abc'), pingFrame(1)]);
    expect(await answersTo(bytes, 1)).toEqual([{ type: 'ping', id: 1 }]);
  });

  test('closes the connection of a client that breaks the rules, and says why', async () => {
    const [near, far] = await socketPair();
    const server = serve(far, (stream) => stream.resume());
    near.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    near.write(Buffer.from('8002000600000004', 'hex'));
    near.on('error', () => undefined);
    near.end();
    await server.closed;
  });

  test('survives random bytes after a good beginning', async () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const chance = seededRandom(seed);
      const [near, far] = await socketPair();
      const server = serve(far, (stream) => stream.pipe(stream));
      const good = Buffer.concat([
        synStreamFrame(1, new SpdyHeaderWriter().write(headers('a'))),
        dataHead(1, 4, false),
        Buffer.from('abcd'),
        pingFrame(1),
      ]);
      good[chance.integer(0, good.length - 1)] = chance.integer(0, 255);
      near.on('error', () => undefined).resume();
      near.end(Buffer.concat([good, randomBytes(chance, chance.integer(0, 99))]));
      const error = await server.closed;
      if (error) expect({ seed, name: error.name }).toEqual({ seed, name: 'SpdyError' });
    }
  });
});
