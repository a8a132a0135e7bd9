import { describe, expect, test } from '@jest/globals';
import { CriLogFormatter, outputTail } from '../../../../src/agent/runtime/logs/cri-log-format.ts';

const TIME_NS = 1_767_225_600_123_456_789n;
const TIME = '2026-01-01T00:00:00.123456789Z';

describe('the log format of CRI', () => {
  const push = (formatter: CriLogFormatter, text: string) => formatter.push(Buffer.from(text), TIME_NS);

  test('has a line for every line, empty ones as well', () => {
    expect(push(new CriLogFormatter('stdout'), 'a\n\nb\n')).toBe(
      `${TIME} stdout F a\n${TIME} stdout F \n${TIME} stdout F b\n`,
    );
  });

  test('joins a line that comes in pieces', () => {
    const formatter = new CriLogFormatter('stderr');
    expect(push(formatter, 'one ')).toBe('');
    expect(push(formatter, 'line\nnext')).toBe(`${TIME} stderr F one line\n`);
    expect(formatter.end(TIME_NS)).toBe(`${TIME} stderr F next\n`);
    expect(formatter.end(TIME_NS)).toBe('');
  });

  test.each([
    [16384, ['F 16384']],
    [16385, ['P 16384', 'F 1']],
    [32768, ['P 16384', 'F 16384']],
    [32769, ['P 16384', 'P 16384', 'F 1']],
  ])('cuts a line of %d bytes into %j', (length, expected) => {
    const lines = push(new CriLogFormatter('stdout'), `${'x'.repeat(length)}\n`)
      .trimEnd()
      .split('\n');
    const shapes = lines.map((line) => / stdout ([PF]) (.*)$/.exec(line)!);
    expect(shapes.map(([, tag, text]) => `${tag} ${text!.length}`)).toEqual(expected);
  });

  test('writes the parts of a line that never ends', () => {
    const formatter = new CriLogFormatter('stdout');
    const out = Array.from({ length: 10 }, () => push(formatter, 'x'.repeat(5000))).join('');
    expect(out.match(/ P x{16384}\n/g)).toHaveLength(3);
  });

  test('changes no byte', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 10));
    const line = new CriLogFormatter('stdout').push(Buffer.concat([bytes, Buffer.from('\n')]), TIME_NS);
    expect(Buffer.from(line, 'latin1').subarray(`${TIME} stdout F `.length, -1)).toEqual(bytes);
  });
});

describe('the end of a log as a termination message', () => {
  const line = (text: string, tag = 'F') => `${TIME} stdout ${tag} ${text}\n`;

  test('is the last 80 lines', () => {
    const texts = Array.from({ length: 100 }, (_, index) => `line ${index}`);
    expect(outputTail(texts.map((text) => line(text)).join(''))).toBe(`${texts.slice(20).join('\n')}\n`);
  });

  test('has at most 2048 bytes, of the end', () => {
    const tail = outputTail(line('x'.repeat(3000)) + line('end'));
    expect(tail).toBe(`${'x'.repeat(2048 - 5)}\nend\n`);
  });

  test('joins partial lines, and text of both streams', () => {
    expect(outputTail(line('one ', 'P') + line('line') + `${TIME} stderr F two\n`)).toBe('one line\ntwo\n');
  });
});
