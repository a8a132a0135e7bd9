/** The paths of the probe machine, replayed against the production probe manager on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { probeMachine } from '../../../src/agent/machines/probe-machine.ts';
import { Coverage } from '../coverage.ts';
import { simulatedPathNode } from '../path-node.ts';
import { shortestPaths, simplePaths } from '../paths.ts';
import { type HappeningName, probeEnvironment } from './probe-environment.ts';
import { replayProbe } from './probe-replay.ts';

const coverage = new Coverage(probeMachine);

afterAll(() => coverage.print('all events in all states, and all paths'));

const KINDS = ['startup', 'liveness', 'readiness'] as const;

test.each(KINDS)('every possible event in every state of a %s probe', async (kind) => {
  const paths = shortestPaths(probeEnvironment(kind));
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replayProbe(simulatedPathNode(), kind, path, coverage);
});

const EVENTS: readonly HappeningName[] = [
  'running1',
  'ended1',
  'running2',
  'due1',
  'due2',
  'restBeside2',
  'restOfEnded1',
  'success',
  'failure',
];

test.each(KINDS)('every path through two instances of a container with a %s probe', async (kind) => {
  const paths = simplePaths(probeEnvironment(kind), EVENTS);
  expect(paths.length).toBeGreaterThan(30);
  for (const path of paths) await replayProbe(simulatedPathNode(), kind, path, coverage);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
