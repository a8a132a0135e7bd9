import { expect, test } from '@jest/globals';
import { TailStart } from '../../../src/policies/logs/tail-start.ts';

/** The text that is read for the last `lines`, by blocks of `blockBytes`. */
function tail(text: string, lines: number, blockBytes: number): string {
  const start = new TailStart(lines);
  const file = Buffer.from(text);
  for (let end = file.length; end > 0; end -= blockBytes) {
    const from = Math.max(0, end - blockBytes);
    const found = start.find(file.subarray(from, end));
    if (found !== undefined) return text.slice(from + found);
  }
  return text;
}

test.each([
  ['a\nb\nc\n', 0, ''],
  ['a\nb\nc\n', 1, 'c\n'],
  ['a\nb\nc\n', 2, 'b\nc\n'],
  ['a\nb\nc\n', 3, 'a\nb\nc\n'],
  ['a\nb\nc\n', 9, 'a\nb\nc\n'],
  ['a\nb\nc', 1, 'b\nc'],
  ['\n\n\n', 2, '\n\n'],
  ['\n', 1, '\n'],
  ['', 1, ''],
])('of %j the last %i lines are %j', (text, lines, want) => {
  for (const blockBytes of [1, 2, 3, 100]) expect(tail(text, lines, blockBytes)).toBe(want);
});
