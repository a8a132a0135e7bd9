import { expect, test } from '@jest/globals';
import { shrink } from '../../../src/simulation/plan/shrink.ts';
import type { simulate, SimulationOptions, SimulationResult } from '../../../src/simulation/simulation.ts';
import { newTally } from '../../../src/simulation/tally.ts';

const ALL = Array.from({ length: 40 }, (_, index) => index + 1);
const OPTIONS: SimulationOptions = {
  seed: 1,
  nodes: 1,
  pods: 1,
  hours: 1,
  faults: ['hang', 'agent', 'slow'],
};

/** A simulation that violates an invariant if it has all of these operations, and the fault. */
function failingOn(needed: readonly number[], fault: SimulationOptions['faults'][number]): typeof simulate {
  return ({ only = ALL, faults }) => {
    const operations = only.filter((number) => number <= Math.max(...needed));
    const fails = faults.includes(fault) && needed.every((number) => only.includes(number));
    const result: SimulationResult = {
      operations: fails ? operations : only,
      story: [],
      tally: newTally(),
      digest: '',
      lines: 0,
      elapsedMs: 1,
      ...(fails && { violation: { invariant: 'I3', node: 1, what: '' } }),
    };
    return Promise.resolve(result);
  };
}

test('only the operations and faults that are needed are left', async () => {
  const run = failingOn([3, 17, 31], 'agent');
  const { options, result } = await shrink(OPTIONS, await run(OPTIONS), { run });
  expect([options.only, options.faults]).toEqual([[3, 17, 31], ['agent']]);
  expect(result.violation?.invariant).toBe('I3');
});

test('a violation of another invariant does not count', async () => {
  const first = failingOn([20], 'hang');
  const run: typeof simulate = async (options) => {
    const result = await first(options);
    if (result.violation === undefined || (options.only ?? ALL).length > 10) return result;
    return { ...result, violation: { ...result.violation, invariant: 'I7' } };
  };
  const { result } = await shrink(OPTIONS, await run(OPTIONS), { run });
  expect(result.violation?.invariant).toBe('I3');
  expect(result.operations).toContain(20);
});

test('a smaller simulation ends ten minutes after the time of the first violation', async () => {
  const failing = failingOn([3], 'agent');
  const asked: (number | undefined)[] = [];
  const run: typeof simulate = (options) => {
    asked.push(options.untilMs);
    return failing(options);
  };
  await shrink(OPTIONS, { ...(await failing(OPTIONS)), elapsedMs: 60_000 }, { run });
  expect(asked.length).toBeGreaterThan(1);
  expect(new Set(asked)).toEqual(new Set([660_000]));
});

test('reports after each simulation how many operations are left', async () => {
  const run = failingOn([3, 17, 31], 'agent');
  const told: [runs: number, operations: number][] = [];
  const onRun = (runs: number, operations: number) => void told.push([runs, operations]);
  const shrunk = await shrink(OPTIONS, await run(OPTIONS), { run, onRun });
  expect(told.map(([runs]) => runs)).toEqual(Array.from({ length: shrunk.runs }, (_, index) => index + 1));
  expect(told.map(([, operations]) => operations)).toEqual(
    told.map(([, operations]) => operations).toSorted((a, b) => b - a),
  );
  expect(told.at(-1)![1]).toBe(3);
});
