/** Simulations of nodes with CSI and DRA drivers. */
import { describe, expect, test } from '@jest/globals';
import { DRIVER_KINDS } from '../../../src/simulation/drivers/driver-kinds.ts';
import { ALL_FAULTS } from '../../../src/simulation/plan/fault-kinds.ts';
import { simulate } from '../../../src/simulation/simulation.ts';

describe('I1 to I10 and the rules of drivers hold', () => {
  test.each([1, 2, 5, 8, 9, 10, 14])('seed %d, with all faults', (seed) => holdsFor(seed, ALL_FAULTS));
  test.each([1, 3])('seed %d, without faults', (seed) => holdsFor(seed, []));
});

async function holdsFor(seed: number, faults: typeof ALL_FAULTS): Promise<void> {
  const run = { seed, nodes: 1, pods: 6, hours: 0.5, faults, drivers: DRIVER_KINDS };
  const { violation, story, tally } = await simulate(run);
  expect({ violation, story }).toEqual({ violation: undefined, story: [] });
  expect(tally.volumesPublished + tally.claimsPrepared).toBeGreaterThan(0);
}
