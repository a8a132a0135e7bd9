import { queryObjects } from 'node:v8';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { NodeAgent } from '../../src/agent/actors/node-agent.ts';
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import { simulate, type SimulationOptions } from '../../src/simulation/simulation.ts';

const options = (seed: number, more: Partial<SimulationOptions> = {}): SimulationOptions => ({
  seed,
  nodes: 1,
  pods: 6,
  hours: 0.5,
  faults: ALL_FAULTS,
  ...more,
});

test('I1 to I10 hold without faults', async () => {
  const { violation, tally } = await simulate(options(1, { pods: 20, faults: [] }));
  expect(violation).toBeUndefined();
  expect(tally.kills).toBeGreaterThan(0);
  expect(tally.rejected).toBeGreaterThan(0);
});

test('simulated time may be longer than a timer can wait, and its progress is reported', async () => {
  const elapsed: number[] = [];
  const onProgress = (ms: number) => void elapsed.push(ms);
  const result = await simulate(options(1, { pods: 1, hours: 1_000, untilMs: 60_000, onProgress }));
  expect(result.elapsedMs).toBe(60_000);
  expect(result.operations).toContain(1);
  expect(elapsed).toEqual(Array.from({ length: 12 }, (_, index) => 5_000 * (index + 1)));
});

test('agents that are killed while they wait for plugins are freed', async () => {
  const left = () => queryObjects(NodeAgent, { format: 'count' });
  const before = left();
  // Fifteen agents of this seed are killed so.
  await simulate({ seed: 3, nodes: 1, pods: 6, hours: 0.5, faults: ALL_FAULTS });
  expect(left()).toBeLessThanOrEqual(before);
});

describe('the history', () => {
  async function linesOf(more: Partial<SimulationOptions> & { seed?: number } = {}) {
    const lines: string[] = [];
    const result = await simulate({ ...options(7), ...more, onLine: (line) => lines.push(line) });
    return { ...result, lines };
  }

  let one: Awaited<ReturnType<typeof linesOf>>;
  beforeAll(async () => {
    one = await linesOf();
  });

  test('is the same to the byte for the same seed, and different for another seed', async () => {
    const [two, other] = [await linesOf(), await linesOf({ seed: 8 })];
    expect(two.lines).toEqual(one.lines);
    expect(two.digest).toBe(one.digest);
    expect(other.digest).not.toBe(one.digest);
  });

  test('has the operations, the calls and the states of each pod', () => {
    const text = one.lines.join('\n');
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
