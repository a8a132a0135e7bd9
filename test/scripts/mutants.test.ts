import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { MUTANTS } from '../../scripts/mutants/list.ts';
import { mutated } from '../../scripts/mutants/mutant.ts';

const ROOT = new URL('../../', import.meta.url);

describe('each mutant can still be made', () => {
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s', (_, mutant) => {
    const text = readFileSync(new URL(mutant.file, ROOT), 'utf8');
    expect(mutated(text, mutant)).not.toBe(text);
  });
});

test('no two have one name', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('a change of what is not there, or is there twice, is refused with what to do', () => {
  const mutant = { name: 'one', breaks: '', file: 'a.ts', find: 'x', replace: 'y' };
  expect(() => mutated('abc', mutant)).toThrow(/occurs 0 times in a\.ts, not once/);
  expect(() => mutated('xx', mutant)).toThrow(/occurs 2 times in a\.ts, not once/);
  expect(mutated('axb', mutant)).toBe('ayb');
});
