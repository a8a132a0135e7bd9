/** Simulations with many seeds. Jest gives a whole file to one worker: three files share the seeds. */
import { describe, expect, test } from '@jest/globals';
import { ALL_FAULTS } from '../../../src/simulation/plan/fault-kinds.ts';
import { simulate } from '../../../src/simulation/simulation.ts';

/** Other seeds: `SEEDS=300,301 npm test -- test/simulation/seeds`. */
const SEEDS = process.env.SEEDS?.split(',').map(Number) ?? Array.from({ length: 150 }, (_, seed) => seed + 1);
const FILES = 3;

/** Of all seeds, every third one, from `file` on: 1, 2 or 3. */
export function holdsForSeeds(file: number): void {
  const seeds = SEEDS.filter((_, index) => index % FILES === file - 1);
  describe('I1 to I10 hold', () => {
    if (seeds.length === 0) test.skip('with the seeds of the other files', () => undefined);
    else test.each(seeds)('seed %d, with all faults', holdsForSeed);
  });
}

async function holdsForSeed(seed: number): Promise<void> {
  const { violation, story, tally } = await simulate({
    seed,
    nodes: 1,
    pods: 6,
    hours: 0.5,
    faults: ALL_FAULTS,
  });
  expect({ violation, story }).toEqual({ violation: undefined, story: [] });
  expect(tally.starts).toBeGreaterThanOrEqual(3);
  expect(tally.failures).toBeGreaterThan(0);
}
