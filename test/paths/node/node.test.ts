/** The paths of the Node object's chart, replayed against the production actor and an API server of the test. */
import { afterAll, expect, test } from '@jest/globals';
import { nodeMachine } from '../../../src/machines/node-machine.ts';
import { Coverage } from '../coverage.ts';
import { shortestPaths } from '../paths.ts';
import { nodeEnvironment } from './node-environment.ts';
import { replayNode } from './node-replay.ts';

const coverage = new Coverage(nodeMachine);

afterAll(() => coverage.print('all events in all states'));

test.each([
  ['registers itself', true],
  ['does not register itself', false],
] as const)('every possible event in every state of a node that %s', async (_, registersItself) => {
  const paths = shortestPaths(nodeEnvironment(registersItself));
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replayNode(registersItself, path, coverage);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
