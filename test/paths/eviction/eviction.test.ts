/** The paths of the eviction machine, replayed against the production agent on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { evictionMachine } from '../../../src/agent/machines/eviction-machine.ts';
import { Coverage } from '../coverage.ts';
import { evictionEnvironment, evictionWalk, type Situation } from './eviction-environment.ts';
import { replayEviction } from './eviction-replay.ts';
import { simulatedPathNode } from '../path-node.ts';
import { joinedPaths } from '../paths.ts';

const coverage = new Coverage(evictionMachine);

afterAll(() => coverage.print('whatever comes'));

const SITUATIONS: readonly Situation[] = [{ resource: 'memory' }, { resource: 'disk' }, { resource: 'pids' }];

test.each(SITUATIONS)(
  'the agent follows the machine for every event in every state if $resource becomes short',
  async (situation) => {
    const paths = joinedPaths(evictionEnvironment(situation), ['lingering']);
    expect(paths.flat().length).toBeGreaterThan(500);
    for (const path of paths) await replayEviction(simulatedPathNode(), situation, path, coverage);
  },
);

const WALKS = 6;
const WALK_STEPS = 60;

test.each(SITUATIONS)(
  'the agent follows the machine through many passes if $resource becomes short',
  async (situation) => {
    for (let seed = 1; seed <= WALKS; seed += 1) {
      const path = evictionWalk(situation, seed, WALK_STEPS);
      await replayEviction(simulatedPathNode(), situation, path, coverage);
    }
  },
);

test('the paths cover every transition, state and guard', () => {
  expect(coverage.uncovered()).toEqual([]);
});
