/** Simulations with many seeds. They are in one file: two workers would each make their code fast for themselves, which takes seconds. */
import { describe, expect, test } from '@jest/globals';
import { DRIVER_KINDS } from '../../../src/simulation/drivers/driver-kinds.ts';
import { ALL_FAULTS } from '../../../src/simulation/plan/fault-kinds.ts';
import { simulate } from '../../../src/simulation/simulation.ts';

/** Other seeds: `SEEDS=300,301 npm test -- test/simulation/seeds`. */
const SEEDS = process.env.SEEDS?.split(',').map(Number) ?? Array.from({ length: 150 }, (_, seed) => seed + 1);

describe('I1 to I10 hold', () => {
  test.each(SEEDS)('seed %d, with all faults', async (seed) => {
    const run = { seed, nodes: 1, pods: 6, hours: 0.5, faults: ALL_FAULTS };
    const { violation, story, tally } = await simulate(run);
    expect({ violation, story }).toEqual({ violation: undefined, story: [] });
    expect(tally.starts).toBeGreaterThanOrEqual(3);
    expect(tally.failures).toBeGreaterThan(0);
  });
});

describe('I1 to I10 and the rules of drivers hold, on nodes with CSI and DRA drivers', () => {
  test.each([1, 2, 5, 8, 9, 10, 14])('seed %d, with all faults', (seed) => holdsFor(seed, ALL_FAULTS));
  test.each([1, 3])('seed %d, without faults', (seed) => holdsFor(seed, []));
  // Pods hear of claims that are made for them only after they have come.
  test('seed 3, without faults, with many pods', () => holdsFor(3, [], { pods: 15, hours: 0.2 }));
});

async function holdsFor(
  seed: number,
  faults: typeof ALL_FAULTS,
  size = { pods: 6, hours: 0.5 },
): Promise<void> {
  const run = { seed, nodes: 1, ...size, faults, drivers: DRIVER_KINDS };
  const { violation, story, tally } = await simulate(run);
  expect({ violation, story }).toEqual({ violation: undefined, story: [] });
  expect(tally.volumesPublished + tally.claimsPrepared).toBeGreaterThan(0);
}
