import { describe, expect, test } from '@jest/globals';
import {
  EnvFilesSize,
  ExecSize,
  expandVariables,
  referredNames,
} from '../../../../src/agent/policies/cri/exec-size.ts';

const MIB = 1024 * 1024;

test('files of variables have at most 6 MiB together, however many there are', () => {
  const size = new EnvFilesSize({ name: 'main' });
  const text = 'x'.repeat(MIB);
  for (let index = 0; index < 6; index++) size.add({ volumeName: 'env', path: `${index}` }, text);
  expect(() => size.add({ volumeName: 'env', path: 'a/b' }, 'x')).toThrow(
    'couldn\'t parse env file: the files of environment variables of container "main" have more than 6 MiB together, up to a/b of volume env; ',
  );
});

test.each([
  ['ASCII', 'x'.repeat(255), 255],
  ['ASCII', 'x'.repeat(257), 257],
  ['other characters', 'é'.repeat(10), 20],
  ['other characters, late', `${'x'.repeat(200)}😀`, 204],
  ['long other characters', 'é'.repeat(300), 600],
])('a variable counts its bytes in UTF-8: %s', (_what, value, bytes) => {
  const word = 128 * 1024;
  const room = word - bytes - '='.length - 1;
  const size = new ExecSize({ name: 'main' });
  expect(size.variable('n'.repeat(room), value)).toBe(value);
  expect(() => size.variable('n'.repeat(room + 1), value)).toThrow('is longer than 128 KiB');
});

test('a container may have 100,000 variables, also where they come from one object again and again', () => {
  const size = new ExecSize({ name: 'main' });
  for (let index = 0; index < 100_000; index++) size.variable('k', '');
  expect(() => size.variable('last', '')).toThrow(
    'container "main" has more than 100,000 environment variables, up to "last"; leave some of its envFrom out',
  );
});

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
