import { describe, expect, test } from '@jest/globals';
import { parseProgram } from '../../../src/simulation/runtime/simulated-program.ts';

const ON_TERM = { takesMs: 0, exitCode: 143 };

describe('the words of a simulated container', () => {
  test.each([
    [[], { exitCode: 0, onTerm: ON_TERM }],
    [['run'], { exitCode: 0, onTerm: ON_TERM }],
    [['succeed'], { exitCode: 0, takesMs: 0, onTerm: ON_TERM }],
    [['fail'], { exitCode: 1, takesMs: 0, onTerm: ON_TERM }],
    [['run', 'exit-after=1.5s', 'code=7'], { exitCode: 7, takesMs: 1500, onTerm: ON_TERM }],
    [['succeed', 'takes=2m'], { exitCode: 0, takesMs: 120_000, onTerm: ON_TERM }],
    [['run', 'term-takes=300ms', 'term-code=0'], { exitCode: 0, onTerm: { takesMs: 300, exitCode: 0 } }],
    [['run', 'ignore-term'], { exitCode: 0, onTerm: undefined }],
    [
      ['succeed', 'until=1h', 'stdout=a=b', 'stderr=c'],
      { exitCode: 0, takesMs: 0, onTerm: ON_TERM, untilMs: 3_600_000, stdout: 'a=b\n', stderr: 'c\n' },
    ],
  ])('%j', (words, program) => {
    expect(parseProgram(words)).toEqual(program);
  });

  test.each([[['crash-at-start']], [['run', 'crash-at-start']]])('%j cannot be started', (words) => {
    expect(parseProgram(words).startError).toMatchObject({ exitCode: 128 });
  });

  test.each([
    [['nginx'], '"nginx"'],
    [['run', 'fast'], '"fast"'],
    [['run', 'exit-after=soon'], '"soon"'],
    [['run', 'code=256'], '"256"'],
  ])('%j means nothing and cannot be started, which says what does not', (words, word) => {
    const { startError } = parseProgram(words);
    expect(startError).toMatchObject({ exitCode: 127, message: expect.stringContaining(word) });
  });
});
