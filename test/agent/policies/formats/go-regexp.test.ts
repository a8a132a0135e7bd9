import { expect, test } from '@jest/globals';
import { goRegexpProblem } from '../../../../src/agent/policies/formats/go-regexp.ts';

test.each([
  '',
  'error.*(?:timeout|refused)+?',
  '^a|b$|()',
  '(?i)a(?P<name>b)(?<n2>c)(?-s:d)(?im-U)',
  'a{2}b{1,1000}c{3,}?{',
  'x{,2}x{01}x{1,2',
  '[]a-z^-][^]][a-][\\d-z][[:alpha:]][[:^space:]]',
  '\\d\\W\\b\\A\\z\\.\\-\\x41\\x{1F600}\\012\\12',
  '\\pL\\P{Greek}\\p{^Lu}\\p{Any}',
  'a\\Q(*[\\E\\Qb',
  'ä😀[😀-😂]',
])('%j is good', (pattern) => {
  expect(goRegexpProblem(pattern)).toBeUndefined();
});

test.each([
  ['(a', 'missing closing ): `(a`'],
  ['a)b', 'unexpected ): `a)b`'],
  ['x[a-z', 'missing closing ]: `[a-z`'],
  ['x[', 'missing closing ]: `[`'],
  ['*a', 'missing argument to repetition operator: `*`'],
  ['(+?)', 'missing argument to repetition operator: `+?`'],
  ['a|{2}', 'missing argument to repetition operator: `{2}`'],
  ['(?i)?', 'missing argument to repetition operator: `?`'],
  ['\\Q\\E*', 'missing argument to repetition operator: `*`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['a{2}+?b', 'invalid nested repetition operator: `{2}+?`'],
  ['a{2,1}', 'invalid repeat count: `{2,1}`'],
  ['a{1001,}', 'invalid repeat count: `{1001,}`'],
  ['a\\', 'trailing backslash at end of expression: ``'],
  ['\\y', 'invalid escape sequence: `\\y`'],
  ['\\1', 'invalid escape sequence: `\\1`'],
  ['\\C', 'invalid escape sequence: `\\C`'],
  ['[\\ä]', 'invalid escape sequence: `\\ä`'],
  ['\\x4g', 'invalid escape sequence: `\\x4g`'],
  ['\\x{110000}', 'invalid escape sequence: `\\x{110000`'],
  ['[z-a]', 'invalid character class range: `z-a`'],
  ['[\\x41-\\n]', 'invalid character class range: `\\x41-\\n`'],
  ['[[:beta:]]', 'invalid character class range: `[:beta:]`'],
  ['\\p{nope}', 'invalid character class range: `\\p{nope}`'],
  ['\\pX', 'invalid character class range: `\\pX`'],
  ['a\\p{L', 'invalid character class range: `\\p{L`'],
  ['a(?=b)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?i-)', 'invalid or unsupported Perl syntax: `(?i-)`'],
  ['(?<=a)', 'invalid named capture: `(?<=a)`'],
  ['(?P<a b>c)', 'invalid named capture: `(?P<a b>`'],
])('%j is not: %s', (pattern, problem) => {
  expect(goRegexpProblem(pattern)).toBe(`error parsing regexp: ${problem}`);
});

test('a long expression is read in one go, whatever it repeats', () => {
  for (const piece of ['[[:]', '[:', '(?:', '\\Q', 'a{1,', '(?<n>', '\\x{1}', '{2', '-', '\\pL'])
    expect(typeof goRegexpProblem(piece.repeat(200_000))).toMatch(/string|undefined/);
});
