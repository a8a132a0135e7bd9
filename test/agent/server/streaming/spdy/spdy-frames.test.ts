import { describe, expect, test } from '@jest/globals';
import {
  CONTROL_BYTES_MAX,
  dataHead,
  goAwayFrame,
  pingFrame,
  resetFrame,
  SpdyFrameReader,
  synReplyFrame,
  synStreamFrame,
  type SpdyFrame,
} from '../../../../../src/agent/server/streaming/spdy/spdy-frames.ts';
import { seededRandom, type SeededRandom } from '../../../../../src/simulation/plan/seeded-random.ts';

const randomBytes = (chance: SeededRandom, length: number) =>
  Buffer.from(Array.from({ length }, () => chance.integer(0, 255)));

const BLOCK = Buffer.from('headers');

const written = Buffer.concat([
  synStreamFrame(1, BLOCK),
  synReplyFrame(1, BLOCK),
  dataHead(1, 5, false),
  Buffer.from('hello'),
  dataHead(3, 0, true),
  pingFrame(7),
  resetFrame(1, 5),
  goAwayFrame(1),
]);

const read: readonly SpdyFrame[] = [
  { type: 'synStream', streamId: 1, fin: false, block: BLOCK },
  { type: 'synReply', streamId: 1, fin: false, block: BLOCK },
  { type: 'data', streamId: 1, chunk: Buffer.from('hello'), fin: false },
  { type: 'data', streamId: 3, chunk: Buffer.alloc(0), fin: true },
  { type: 'ping', id: 7 },
  { type: 'reset', streamId: 1 },
  { type: 'goAway' },
];

function readAll(bytes: Buffer, pieceBytes = bytes.length): SpdyFrame[] {
  const reader = new SpdyFrameReader();
  const found: SpdyFrame[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    found.push(...reader.push(bytes.subarray(at, at + pieceBytes)));
  }
  return found;
}

describe('frames of SPDY/3.1', () => {
  test('are read as they were written', () => {
    expect(readAll(written)).toEqual(read);
  });

  test('have the bytes that the draft says', () => {
    expect(pingFrame(1).toString('hex')).toBe('800300060000000400000001');
    expect(dataHead(5, 0x01_02_03, true).toString('hex')).toBe('0000000501010203');
    expect(synStreamFrame(1, BLOCK).toString('hex', 0, 18)).toBe('800300010000001100000001000000000000');
  });

  test('may come byte by byte; then data comes in as many pieces', () => {
    const frames = readAll(written, 1);
    const data = frames.filter((frame) => frame.type === 'data' && frame.streamId === 1);
    expect(data).toHaveLength(5);
    expect(frames.filter((frame) => !data.includes(frame))).toEqual(
      read.filter((frame) => frame.type !== 'data' || frame.streamId !== 1),
    );
  });

  test('of a large data frame are handed on in pieces, the end with the last', () => {
    const bytes = Buffer.concat([dataHead(1, 6, true), Buffer.from('abcdef')]);
    expect(readAll(bytes, 11)).toEqual([
      { type: 'data', streamId: 1, chunk: Buffer.from('abc'), fin: false },
      { type: 'data', streamId: 1, chunk: Buffer.from('def'), fin: true },
    ]);
  });

  test('of unknown types and of windows are skipped', () => {
    const settings = Buffer.from('800300040000000400000000', 'hex');
    const window = Buffer.from('80030009000000080000000100010000', 'hex');
    expect(readAll(Buffer.concat([settings, window, pingFrame(1)]))).toEqual([{ type: 'ping', id: 1 }]);
  });

  test('of another version are refused', () => {
    expect(() => readAll(Buffer.from('800200060000000400000001', 'hex'))).toThrow('SPDY version 2');
  });

  test('that are too large or cut off are refused before they are stored', () => {
    expect(() => readAll(Buffer.from('8003000100ffffff', 'hex'))).toThrow(`the most is ${CONTROL_BYTES_MAX}`);
    expect(() => readAll(Buffer.from('8003000100000009', 'hex'))).toThrow('is cut off: 9 bytes');
  });
});

test('random and damaged bytes give frames or a SpdyError, and never hold more than one control frame', () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const chance = seededRandom(seed);
    const bytes = seed % 2 === 0 ? randomBytes(chance, 400) : Buffer.concat([written, written]);
    for (let damage = chance.integer(0, 4); damage > 0; damage -= 1) {
      bytes[chance.integer(0, bytes.length - 1)] = chance.integer(0, 255);
    }
    let data = 0;
    try {
      for (const frame of readAll(bytes, 1 + chance.integer(0, 49)))
        if (frame.type === 'data') data += frame.chunk.length;
    } catch (error) {
      expect({ seed, error }).toMatchObject({ error: { name: 'SpdyError' } });
    }
    expect(data).toBeLessThanOrEqual(bytes.length);
  }
});
