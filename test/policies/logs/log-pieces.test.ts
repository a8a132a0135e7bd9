import { describe, expect, test } from '@jest/globals';
import { type LogPiece, LogPieces } from '../../../src/policies/logs/log-pieces.ts';

/** `^` begins a line, `$` ends it. */
function read(pieces: LogPieces, chunks: readonly string[], { atEnd = true } = {}): string[] {
  const read: string[] = [];
  const note = ({ text, isStart, isEnd }: LogPiece) =>
    read.push(`${isStart ? '^' : ''}${text}${isEnd ? '$' : ''}`);
  for (const chunk of chunks) for (const piece of pieces.push(chunk)) note(piece);
  if (atEnd) for (const piece of pieces.end()) note(piece);
  return read;
}

describe('the lines of a log', () => {
  test.each([
    [['a\nb\n'], ['^a\n$', '^b\n$']],
    [
      ['a', 'b', '\nc\n'],
      ['^ab\n$', '^c\n$'],
    ],
    [
      ['\n', '\n'],
      ['^\n$', '^\n$'],
    ],
    [['a\nb'], ['^a\n$', '^b$']],
    [[], []],
  ])('of %j are %j', (chunks, want) => {
    expect(read(new LogPieces(), chunks)).toEqual(want);
  });

  test('that are not ended are kept until they are', () => {
    const pieces = new LogPieces();
    expect(read(pieces, ['a'], { atEnd: false })).toEqual([]);
    expect(read(pieces, ['b\n'], { atEnd: false })).toEqual(['^ab\n$']);
  });

  test('that are too long come in pieces', () => {
    const chunks = ['123', '456', '78\nab\n'];
    expect(read(new LogPieces(4), chunks)).toEqual(['^123456', '78\n$', '^ab\n$']);
    expect(read(new LogPieces(4), ['12345', '67890'])).toEqual(['^12345', '67890', '$']);
  });

  test('that were begun in another file are forgotten', () => {
    const pieces = new LogPieces(4);
    read(pieces, ['12345'], { atEnd: false });
    pieces.reset();
    expect(read(pieces, ['a\n'])).toEqual(['^a\n$']);
  });
});
