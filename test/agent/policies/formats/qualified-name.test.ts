import { expect, test } from '@jest/globals';
import { qualifiedNameProblems } from '../../../../src/agent/policies/formats/qualified-name.ts';

test.each(['app', 'A', '1', 'a-b_c.d', 'example.com/app', `${'a'.repeat(253)}/x`, `x/${'a'.repeat(63)}`])(
  '%.30j is a name',
  (text) => {
    expect(qualifiedNameProblems(text)).toEqual([]);
  },
);

test.each<[string, RegExp[]]>([
  ['', [/^name part must be non-empty$/, /^name part must consist of/]],
  ['bad key', [/^name part must consist of/]],
  ['-a', [/^name part must consist of/]],
  ['a'.repeat(64), [/^name part must be no more than 63 bytes$/]],
  ['é'.repeat(32), [/^name part must be no more than 63 bytes$/, /^name part must consist of/]],
  ['/app', [/^prefix part must be non-empty$/]],
  ['Example.com/app', [/^prefix part a lowercase RFC 1123 subdomain must consist of/]],
  [`${'a'.repeat(254)}/x`, [/^prefix part must be no more than 253 bytes$/]],
  ['a/b/c', [/^a qualified name must consist of .* with an optional DNS subdomain prefix/]],
])('%.30j is none', (text, wanted) => {
  const problems = qualifiedNameProblems(text);
  expect(problems).toEqual(wanted.map((problem) => expect.stringMatching(problem)));
});
