import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runLayer } from '../../scripts/mutants/layers.ts';
import { MUTANTS } from '../../scripts/mutants/list.ts';
import { mutated } from '../../scripts/mutants/mutant.ts';
import { Workplace } from '../../scripts/mutants/workplace.ts';

const ROOT = new URL('../../', import.meta.url);

describe('each mutant can be applied', () => {
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s', (_, mutant) => {
    const text = readFileSync(new URL(mutant.file, ROOT), 'utf8');
    expect(mutated(text, mutant)).not.toBe(text);
  });
});

test('no two mutants have the same name', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('a mutant whose text does not occur exactly once is refused, with an advice', () => {
  const mutant = { name: 'one', breaks: '', file: 'a.ts', find: 'x', replace: 'y' };
  expect(() => mutated('abc', mutant)).toThrow(/occurs 0 times in a\.ts, not once/);
  expect(() => mutated('xx', mutant)).toThrow(/occurs 2 times in a\.ts, not once/);
  expect(mutated('axb', mutant)).toBe('ayb');
});

describe('the simulation catches some plain mutants; `npm run mutants` tries all', () => {
  const LIMIT_MS = 600_000;
  let workplace: Workplace;

  beforeAll(async () => {
    workplace = await Workplace.of(fileURLToPath(ROOT));
  });
  afterAll(() => workplace.remove());

  test.each([
    ['skip-draining', /^I/],
    ['grace-grows', /^I4/],
    ['kill-not-awaited', /^(?:I7|rule 6)/],
    ['rejected-pod-starts', /^rule 3/],
    ['same-name-overlap', /^I6/],
    ['restart-forgotten', /^rule 9/],
  ])(
    '%s',
    async (name, invariant) => {
      const mutant = MUTANTS.find((one) => one.name === name)!;
      const layer = () => runLayer('simulation', workplace.root, mutant.file, LIMIT_MS);
      expect(await workplace.with(mutant, layer)).toMatch(invariant);
    },
    LIMIT_MS,
  );
});
