import { describe, expect, test } from '@jest/globals';
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import { simulate, type SimulationOptions } from '../../src/simulation/simulation.ts';
import { newTally } from '../../src/simulation/tally.ts';

const options = (seed: number, more: Partial<SimulationOptions> = {}): SimulationOptions => ({
  seed,
  nodes: 1,
  pods: 6,
  hours: 0.5,
  faults: ALL_FAULTS,
  ...more,
});

describe('I1 to I10 hold', () => {
  test('on several nodes at once', async () => {
    const runs = [];
    for (const seed of [1, 2, 4]) runs.push(await simulate(options(seed, { nodes: 5, pods: 10 })));
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

  test('without faults', async () => {
    const { violation, tally } = await simulate(options(1, { pods: 20, faults: [] }));
    expect(violation).toBeUndefined();
    expect(tally.kills).toBeGreaterThan(0);
    expect(tally.rejected).toBeGreaterThan(0);
  });
});

test('simulated time may be longer than a timer can wait, and its progress is reported', async () => {
  const elapsed: number[] = [];
  const onProgress = (ms: number) => void elapsed.push(ms);
  const result = await simulate(options(1, { pods: 1, hours: 1_000, untilMs: 60_000, onProgress }));
  expect(result.elapsedMs).toBe(60_000);
  expect(result.operations).toContain(1);
  expect(elapsed).toEqual(Array.from({ length: 12 }, (_, index) => 5_000 * (index + 1)));
});

describe('the history', () => {
  async function linesOf(more: Partial<SimulationOptions> & { seed?: number } = {}) {
    const lines: string[] = [];
    const result = await simulate({ ...options(7), ...more, onLine: (line) => lines.push(line) });
    return { ...result, lines };
  }

  test('is the same to the byte for the same seed, and different for another seed', async () => {
    const [one, two, other] = [await linesOf(), await linesOf(), await linesOf({ seed: 8 })];
    expect(two.lines).toEqual(one.lines);
    expect(two.digest).toBe(one.digest);
    expect(other.digest).not.toBe(one.digest);
  });

  test('has the operations, the calls and the states of each pod', async () => {
    const { lines } = await linesOf();
    const text = lines.join('\n');
    for (const wanted of [
      /#\d+ \{"kind":"create"/,
      /StartContainer uid-\d+\.c\d+: done/,
      /Terminated\.Finished/,
    ]) {
      expect(text).toMatch(wanted);
    }
  });

  test('has only the operations that were asked for', async () => {
    const { lines, operations } = await linesOf({ only: [1, 3] });
    expect(operations).toEqual([1, 3]);
    expect(lines.filter((line) => line.includes(': #')).length).toBeLessThanOrEqual(2);
  });
});
