import { describe, expect, test } from '@jest/globals';
import { BoundedOutput } from '../../src/system/bounded-output.ts';

const CHUNK_BYTES = 64 * 1024;

describe('a bounded output', () => {
  test('keeps what was added until it is full', () => {
    const output = new BoundedOutput(5);
    expect([output.toString(), output.isFull]).toEqual(['', false]);
    for (const text of ['a', '', 'bcd']) output.add(Buffer.from(text));
    expect([output.toString(), output.isFull]).toEqual(['abcd', false]);
    for (const text of ['efg', 'h']) output.add(Buffer.from(text));
    expect([output.toString(), output.isFull]).toEqual(['abcde', true]);
  });

  test.each([1, 7, CHUNK_BYTES])(
    'in chunks of %i bytes holds memory of its own, and no more than its limit',
    (size) => {
      const output = new BoundedOutput(10_000);
      const chunk = Buffer.alloc(size, 'x');
      for (let bytes = 0; bytes < 2 * CHUNK_BYTES; bytes += size) output.add(chunk);
      chunk.fill('y');
      expect(output.toString()).toBe('x'.repeat(10_000));
      expect(output.bytes().buffer.byteLength).toBe(10_000);
    },
  );
});
