/** The paths of the preemption machine, replayed against the production agent on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { preemptionMachine } from '../../../src/machines/preemption-machine.ts';
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
  'whatever comes for a pod of kind $preemptor, the second pod $second',
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

/** The one differs in everything from the other. */
const EXTREMES = [SITUATIONS[0]!, SITUATIONS[3]!];

test.each(EXTREMES)(
  'every way to room for a pod of kind $preemptor, the second pod $second',
  async (situation) => {
    const paths = simplePaths(preemptionEnvironment(situation), WAY);
    expect(paths.length).toBeGreaterThan(40);
    for (const path of paths) await replayPreemption(simulatedPathNode(), situation, path, coverage);
  },
);

test('no transition, state or guard is left out', () => {
  expect(coverage.uncovered()).toEqual([]);
});
