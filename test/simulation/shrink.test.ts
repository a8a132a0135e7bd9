import { expect, test } from '@jest/globals';
import { shrink } from '../../src/simulation/shrink.ts';
import type { simulate, SimulationOptions, SimulationResult } from '../../src/simulation/simulation.ts';
import { newTally } from '../../src/simulation/tally.ts';

const ALL = Array.from({ length: 40 }, (_, index) => index + 1);
const OPTIONS: SimulationOptions = {
  seed: 1,
  nodes: 1,
  pods: 1,
  hours: 1,
  faults: ['hang', 'agent', 'slow'],
};

/** A simulation in which an invariant is violated once all of these operations, and the fault, have come together. */
function failingOn(needed: readonly number[], fault: SimulationOptions['faults'][number]): typeof simulate {
  return ({ only = ALL, faults }) => {
    const operations = only.filter((number) => number <= Math.max(...needed));
    const fails = faults.includes(fault) && needed.every((number) => only.includes(number));
    const result: SimulationResult = {
      ...{ operations: fails ? operations : only, story: [], tally: newTally(), digest: '', lines: 0 },
      ...(fails && { violation: { invariant: 'I3', node: 1, what: '' } }),
    };
    return Promise.resolve(result);
  };
}

test('what is left is what it takes, operations and faults', async () => {
  const run = failingOn([3, 17, 31], 'agent');
  const { options, result } = await shrink(OPTIONS, await run(OPTIONS), run);
  expect([options.only, options.faults]).toEqual([[3, 17, 31], ['agent']]);
  expect(result.violation?.invariant).toBe('I3');
});

test('a violation of another invariant is not the one that is looked for', async () => {
  const first = failingOn([20], 'hang');
  const run: typeof simulate = async (options) => {
    const result = await first(options);
    if (result.violation === undefined || (options.only ?? ALL).length > 10) return result;
    return { ...result, violation: { ...result.violation, invariant: 'I7' } };
  };
  const { result } = await shrink(OPTIONS, await run(OPTIONS), run);
  expect(result.violation?.invariant).toBe('I3');
  expect(result.operations).toContain(20);
});
