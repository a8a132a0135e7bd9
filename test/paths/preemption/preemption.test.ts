/** The paths of the preemption machine, replayed against the production agent on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { preemptionMachine } from '../../../src/agent/machines/preemption-machine.ts';
import { Coverage } from '../coverage.ts';
import { simulatedPathNode } from '../path-node.ts';
import { shortestPaths, simplePaths } from '../paths.ts';
import { preemptionEnvironment, type PreemptionEventName, type Situation } from './preemption-environment.ts';
import { replayPreemption } from './preemption-replay.ts';

const coverage = new Coverage(preemptionMachine);

afterAll(() => coverage.print('whatever comes, and every way'));

const SITUATIONS: readonly Situation[] = [
  { preemptor: 'api', second: 'running' },
  { preemptor: 'static', second: 'running' },
  { preemptor: 'api', second: 'ending' },
  { preemptor: 'static', second: 'ending' },
];

test.each(SITUATIONS)(
  'the agent follows the machine for every event in every state if the preemptor is $preemptor and the second pod $second',
  async (situation) => {
    const paths = shortestPaths(preemptionEnvironment(situation));
    expect(paths.length).toBeGreaterThan(40);
    for (const path of paths) await replayPreemption(simulatedPathNode(), situation, path, coverage);
  },
);

const WAY: readonly PreemptionEventName[] = [
  ...(['preempt', 'twoAwaited', 'thirdAwaited', 'noVictims'] as const),
  ...(['admitted', 'stillShort', 'refused', 'rejected', 'gone'] as const),
  ...(['firstEnded', 'secondEnded', 'thirdEnded', 'firstFailed', 'secondFailed', 'thirdFailed'] as const),
];

/** The two situations differ in every property. */
const EXTREMES = [SITUATIONS[0]!, SITUATIONS[3]!];

test.each(EXTREMES)(
  'the agent follows the machine on every path if the preemptor is $preemptor and the second pod $second',
  async (situation) => {
    const paths = simplePaths(preemptionEnvironment(situation), WAY);
    expect(paths.length).toBeGreaterThan(40);
    for (const path of paths) await replayPreemption(simulatedPathNode(), situation, path, coverage);
  },
);

test('the paths cover every transition, state and guard', () => {
  expect(coverage.uncovered()).toEqual([]);
});
