import { describe, expect, test } from '@jest/globals';
import {
  criFormat,
  dockerFormat,
  type LogFormat,
  type LogPiece,
  LogPieces,
} from '../../../../src/agent/policies/logs/log-message.ts';

function read(format: LogFormat, line: string) {
  const message = format(Buffer.from(line).toString('latin1'));
  return (
    message && {
      ...message,
      time: message.time.stamp,
      content: Buffer.from(message.content, 'latin1').toString(),
    }
  );
}

const TIME = '2030-01-01T00:00:00.5Z';
const time = '2030-01-01T00:00:00.500000000Z';
const ZERO = '0001-01-01T00:00:00.000000000Z';

describe("CRI's format", () => {
  test.each([
    [`${TIME} stdout F hello you\n`, 'stdout', 'hello you\n', false],
    [`${TIME} stderr P hel\n`, 'stderr', 'hel', true],
    [`${TIME} stdout P:x hel\n`, 'stdout', 'hel', true],
    [`${TIME} stdout F:P lo\n`, 'stdout', 'lo\n', false],
    [`${TIME} stdout  two blanks`, 'stdout', 'two blanks', false],
    [`${TIME} stdout F \n`, 'stdout', '\n', false],
  ])('reads %j', (line, stream, content, isPart) => {
    expect(read(criFormat, line)).toEqual({ time, stream, content, isPart });
  });

  test.each([
    '',
    '\n',
    TIME,
    `${TIME} stdout`,
    `${TIME} stdout F\n`,
    `${TIME} stdin F x\n`,
    'x stdout F x\n',
  ])('is not %j', (line) => {
    expect(read(criFormat, line)).toBeUndefined();
  });
});

describe("Docker's format", () => {
  test.each([
    [{ log: 'a\n', stream: 'stdout', time: TIME }, 'stdout', 'a\n', time],
    [{ log: 'é漢', stream: 'stdout', time: TIME }, 'stdout', 'é漢', time],
    [{ LOG: 'a', Stream: 'stderr', time: TIME, more: 1 }, 'stderr', 'a', time],
    [{ log: null, stream: null, time: null }, '', '', ZERO],
    [null, '', '', ZERO],
  ])('reads %j', (line, stream, content, at) => {
    expect(read(dockerFormat, `${JSON.stringify(line)}\n`)).toEqual({
      time: at,
      stream,
      content,
      isPart: false,
    });
  });

  test.each([
    '',
    'x',
    '1',
    '[]',
    '{"log":1}',
    '{"log":"a","stream":[]}',
    '{"time":"noon"}',
    '{"time":5}',
    '{} {}',
  ])('is not %j', (line) => {
    expect(read(dockerFormat, line)).toBeUndefined();
  });
});

/** `^` begins a line, `$` ends it. */
function readPieces(pieces: LogPieces, chunks: readonly string[], { atEnd = true } = {}): string[] {
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
    expect(readPieces(new LogPieces(), chunks)).toEqual(want);
  });

  test('that are not ended are kept until they are', () => {
    const pieces = new LogPieces();
    expect(readPieces(pieces, ['a'], { atEnd: false })).toEqual([]);
    expect(readPieces(pieces, ['b\n'], { atEnd: false })).toEqual(['^ab\n$']);
  });

  test('that are too long come in pieces', () => {
    const chunks = ['123', '456', '78\nab\n'];
    expect(readPieces(new LogPieces(4), chunks)).toEqual(['^123456', '78\n$', '^ab\n$']);
    expect(readPieces(new LogPieces(4), ['12345', '67890'])).toEqual(['^12345', '67890', '$']);
  });

  test('that were begun in another file are forgotten', () => {
    const pieces = new LogPieces(4);
    readPieces(pieces, ['12345'], { atEnd: false });
    pieces.reset();
    expect(readPieces(pieces, ['a\n'])).toEqual(['^a\n$']);
  });
});
