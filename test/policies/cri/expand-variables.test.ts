import { describe, expect, test } from '@jest/globals';
import { expandVariables, referredNames } from '../../../src/policies/cri/expand-variables.ts';

describe('expandVariables', () => {
  const env = new Map([
    ['A', 'a'],
    ['B', '$(A)'],
    ['EMPTY', ''],
  ]);

  test.each([
    ['no variables', 'plain text', 'plain text'],
    ['a variable', '$(A)', 'a'],
    ['several, side by side', '<$(A)$(A)-$(EMPTY)>', '<aa->'],
    ['an unknown variable stays', '$(NOPE)/$(A)', '$(NOPE)/a'],
    ['an escaped variable', '$$(A)', '$(A)'],
    ['an escaped dollar before a variable', '$$$(A)', '$a'],
    ['two escaped dollars', '$$$$(A)', '$$(A)'],
    ['a lone dollar', '$A $ 5$', '$A $ 5$'],
    ['an unfinished variable', '$(A', '$(A'],
    ['an unfinished variable before others', '$(A)$(A $$(A $$$(B', 'a$(A $(A $$(B'],
    ['an end without a beginning', ')$(A))', ')a)'],
    ['an escape behind an unfinished variable', '$(A$$', '$(A$'],
    ['an empty name', '$()', '$()'],
    ['a name up to the first closing bracket', '$($(A))', '$($(A))'],
    ['values are not expanded again', '$(B)', '$(A)'],
  ])('%s', (_, text, wanted) => {
    expect(expandVariables(text, env)).toBe(wanted);
  });

  test('stops at what Linux takes, however often a text repeats a variable', () => {
    const long = new Map([['A', 'x'.repeat(64 * 1024)]]);
    expect(expandVariables('$(A)$(A)', long)).toHaveLength(128 * 1024);
    expect(expandVariables('$(A)$(A).', long)).toBeUndefined();
    expect(expandVariables('$(A)'.repeat(1_000_000), long)).toBeUndefined();
  });

  test('takes a text of very many beginnings in linear time', () => {
    expect(expandVariables('$('.repeat(60_000), env)).toHaveLength(120_000);
    expect([...referredNames('$('.repeat(1_000_000))]).toEqual([]);
  });
});

test('referredNames has each name that stands in a text', () => {
  expect([...referredNames('$(A)/$$(B)/$(C)$(A)/$(D')]).toEqual(['A', 'C', 'A']);
});
