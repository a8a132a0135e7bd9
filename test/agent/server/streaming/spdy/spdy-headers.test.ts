import { constants, createDeflate, deflateSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import {
  HEADER_BYTES_MAX,
  SPDY_DICTIONARY,
  SpdyHeaderReader,
  SpdyHeaderWriter,
} from '../../../../../src/agent/server/streaming/spdy/spdy-headers.ts';
import { seededRandom } from '../../../../../src/simulation/plan/seeded-random.ts';

const FIRST = new Map([
  ['streamtype', 'stdin'],
  ['port', '80'],
]);
const SECOND = new Map([['streamtype', 'é'.repeat(200)]]);

/** The content of a block, made without the code under test. */
function content(headers: ReadonlyMap<string, string>): Buffer {
  const field = (text: string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(text));
    return Buffer.concat([length, Buffer.from(text)]);
  };
  const count = Buffer.alloc(4);
  count.writeUInt32BE(headers.size);
  return Buffer.concat([count, ...[...headers].flat().map(field)]);
}

/** Compresses blocks as Go does: one stream with the dictionary, flushed after each block. */
async function compressed(...blocks: readonly Buffer[]): Promise<Buffer[]> {
  const deflate = createDeflate({ dictionary: SPDY_DICTIONARY });
  const results: Buffer[] = [];
  for (const block of blocks) {
    deflate.write(block);
    await new Promise<void>((resolve) => {
      deflate.flush(constants.Z_SYNC_FLUSH, resolve);
    });
    results.push(deflate.read() as Buffer);
  }
  deflate.destroy();
  return results;
}

async function withReader<T>(use: (reader: SpdyHeaderReader) => Promise<T>): Promise<T> {
  const reader = new SpdyHeaderReader();
  try {
    return await use(reader);
  } finally {
    reader.close();
  }
}

test('the dictionary is the one of SPDY/3: zlib names it by its checksum', () => {
  expect(deflateSync('x', { dictionary: SPDY_DICTIONARY }).toString('hex', 2, 6)).toBe('e3c6a7c2');
});

describe('header blocks', () => {
  test('are read as Go compresses them, each with what stood before it', async () => {
    const [first, second] = await compressed(content(FIRST), content(SECOND));
    await withReader(async (reader) => {
      expect(await reader.read(first ?? Buffer.alloc(0))).toEqual(FIRST);
      expect(await reader.read(second ?? Buffer.alloc(0))).toEqual(SECOND);
    });
  });

  test('are written so that zlib reads them', async () => {
    const writer = new SpdyHeaderWriter();
    await withReader(async (reader) => {
      for (const headers of [FIRST, SECOND, new Map<string, string>()]) {
        expect(await reader.read(writer.write(headers))).toEqual(headers);
      }
    });
  });

  test('end with the empty block at which Go hands on what it has', () => {
    const writer = new SpdyHeaderWriter();
    for (const headers of [FIRST, SECOND])
      expect(writer.write(headers).toString('hex')).toMatch(/000000ffff$/u);
  });

  test('have names in lower case', async () => {
    await withReader(async (reader) => {
      const block = new SpdyHeaderWriter().write(new Map([['streamType', 'A']]));
      expect(await reader.read(block)).toEqual(new Map([['streamtype', 'A']]));
    });
  });

  test('that are large once decompressed are refused', async () => {
    const large = new Map([['a', 'x'.repeat(HEADER_BYTES_MAX)]]);
    const [block = Buffer.alloc(0)] = await compressed(content(large));
    expect(block.length).toBeLessThan(1000);
    await withReader((reader) =>
      expect(reader.read(block)).rejects.toThrow(`more than ${HEADER_BYTES_MAX} bytes`),
    );
  });

  test('just below the limit are read', async () => {
    const large = new Map([['a', 'x'.repeat(HEADER_BYTES_MAX - 100)]]);
    const [block = Buffer.alloc(0)] = await compressed(content(large));
    await withReader(async (reader) => {
      expect(await reader.read(block)).toEqual(large);
    });
  });

  test.each([
    ['no zlib', Buffer.from('nonsense')],
    ['a count without headers', new SpdyHeaderWriter().write(FIRST).subarray(0, 11)],
  ])('that are %s are refused', async (_, block) => {
    await withReader((reader) => expect(reader.read(block)).rejects.toMatchObject({ name: 'SpdyError' }));
  });

  test('are refused after the end of the connection', async () => {
    const reader = new SpdyHeaderReader();
    reader.close();
    await expect(reader.read(new SpdyHeaderWriter().write(FIRST))).rejects.toThrow('closed');
  });
});

test('damaged blocks are read or refused with a SpdyError', async () => {
  for (let seed = 0; seed < 100; seed += 1) {
    const chance = seededRandom(seed);
    const [block = Buffer.alloc(0)] = await compressed(content(FIRST));
    block[chance.integer(0, block.length - 1)] = chance.integer(0, 255);
    await withReader(async (reader) => {
      try {
        await reader.read(block);
      } catch (error) {
        expect({ seed, error }).toMatchObject({ error: { name: 'SpdyError' } });
      }
    });
  }
});
