/** Beside the other simulations: it takes as long as all of those together. */
import { expect, test } from '@jest/globals';
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import { simulate } from '../../src/simulation/simulation.ts';
import { newTally } from '../../src/simulation/tally.ts';

test('I1 to I10 hold on several nodes at once', async () => {
  const runs = [];
  for (const seed of [1, 2, 4])
    runs.push(await simulate({ seed, nodes: 5, pods: 10, hours: 0.5, faults: ALL_FAULTS }));
  expect(runs.map(({ violation }) => violation)).toEqual([undefined, undefined, undefined]);
  const tally = newTally();
  for (const key of Object.keys(tally) as (keyof typeof tally)[])
    tally[key] = runs.reduce((sum, run) => sum + run.tally[key], 0);
  expect(tally.chosenByPlugins).toBeGreaterThan(0);
  expect(tally.devicesAsked).toBeGreaterThan(0);
  expect(tally.pinned).toBeGreaterThan(0);
  expect(tally.agentsKilled).toBeGreaterThan(0);
  expect(tally.rejected).toBeGreaterThan(0);
  expect(tally.preempted).toBeGreaterThan(0);
  expect(tally.evictedForDisk).toBeGreaterThan(0);
  expect(tally.evictedForPIDs).toBeGreaterThan(0);
  expect(tally.evictedForLimits).toBeGreaterThan(0);
  const { evicted, evictedForDisk, evictedForPIDs, evictedForLimits } = tally;
  expect(evicted).toBeGreaterThan(evictedForDisk + evictedForPIDs + evictedForLimits);
});
