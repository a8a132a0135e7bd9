import { describe, expect, test } from '@jest/globals';
import { LogPieces } from '../../../../src/agent/policies/logs/log-message.ts';
import { LogView, type LogViewOptions, TailStart } from '../../../../src/agent/policies/logs/log-view.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('readLogs');

const ALL: LogViewOptions = {
  follow: false,
  timestamps: false,
  since: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stream: 'All',
};

/** `maxLength`: longer lines come in pieces. */
function show(log: string, options: Partial<LogViewOptions> = {}, maxLength = 1e6) {
  let output = '';
  const view = new LogView({ ...ALL, ...options }, (text) => {
    output += text;
  });
  const pieces = new LogPieces(maxLength);
  // Small chunks, as of a log that is being written.
  for (let from = 0; from < log.length; from += 40) {
    for (const piece of pieces.push(log.slice(from, from + 40))) view.take(piece);
  }
  for (const piece of pieces.end()) view.take(piece);
  return { output, isDone: view.isDone, problem: view.problem };
}

const TIME = '2030-01-01T00:00:00Z';
const STAMP = '2030-01-01T00:00:00.000000000Z';

describe('a line that comes in pieces', () => {
  const text = 'x'.repeat(500);
  const shown = (log: string, options: Partial<LogViewOptions> = {}) => {
    const inPieces = show(log, options, 60);
    expect(inPieces).toEqual(show(log, options));
    return inPieces.output;
  };

  test('is shown as a whole, with one timestamp', () => {
    const log = `${TIME} stdout F ${text}\n${TIME} stdout F y\n`;
    expect(shown(log)).toBe(`${text}\ny\n`);
    expect(shown(log, { timestamps: true })).toBe(`${STAMP} ${text}\n${STAMP} y\n`);
  });

  test('loses its newline where it is a part of a longer one', () => {
    const log = `${TIME} stdout P ${text}\n${TIME} stdout F y\n`;
    expect(shown(log, { timestamps: true })).toBe(`${STAMP} ${text}y\n`);
  });

  test('is cut at the limit', () => {
    expect(shown(`${TIME} stdout F ${text}\n`, { limitBytes: 300 })).toBe(text.slice(0, 300));
  });

  test('counts as one line', () => {
    const log = `${TIME} stdout F ${text}\n`.repeat(3);
    expect(shown(log, { tailLines: 2 })).toBe(`${text}\n${text}\n`);
  });

  test('is left out where it is too old, of another stream, or of no known format', () => {
    const since = { seconds: Date.UTC(2031, 0, 1) / 1000, nanos: 0, offsetMinutes: 0 };
    const log = `${TIME} stdout F y\n${TIME} stdout F ${text}\n`;
    expect(shown(log, { since })).toBe('');
    expect(shown(log, { stream: 'Stderr' })).toBe('');
    expect(shown(`${TIME} stdout F y\n${text}\n${TIME} stdout F z\n`)).toBe('y\nz\n');
  });
});

test('a first line of no known format is a problem, which shows its beginning', () => {
  const { problem, isDone } = show(`${'x'.repeat(100_000)}\n`);
  expect(isDone).toBe(true);
  expect(problem).toMatch(/^failed to get parse function: unsupported log format: "x{16384}"$/);
});

test("a stream that does not exist is a problem in Docker's format, but not for a line that is too old", () => {
  const log = '{"log":"a\\n","stream":"stdout"}\n{"log":"b\\n","stream":"stdin"}\n{"log":"c"}\n';
  expect(show(log)).toEqual({ output: 'a\n', isDone: true, problem: 'unexpected stream type "stdin"' });
  const since = { seconds: 0, nanos: 0, offsetMinutes: 0 };
  expect(show(log, { since })).toEqual({ output: '', isDone: false, problem: undefined });
});

test('who follows gets all lines after the last ones', () => {
  const log = `${TIME} stdout F y\n`.repeat(3);
  expect(show(log, { tailLines: 1 }).output).toBe('y\n');
  expect(show(log, { tailLines: 1, follow: true }).output).toBe('y\ny\ny\n');
});

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
