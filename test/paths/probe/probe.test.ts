/** The paths of the probe machine, replayed against the production probe manager on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { probeMachine } from '../../../src/machines/probe-machine.ts';
import { Coverage } from '../coverage.ts';
import { simulatedGround } from '../ground.ts';
import { shortestPaths, simplePaths } from '../paths.ts';
import { type HappeningName, probeEnvironment } from './probe-environment.ts';
import { replayProbe } from './probe-replay.ts';

const coverage = new Coverage(probeMachine);

afterAll(() => coverage.print('whatever comes, and every way'));

const KINDS = ['startup', 'liveness', 'readiness'] as const;

test.each(KINDS)('whatever comes in whatever state of a %s probe', async (kind) => {
  const paths = shortestPaths(probeEnvironment(kind));
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replayProbe(simulatedGround(), kind, path, coverage);
});

const WAY: readonly HappeningName[] = [
  ...(['running1', 'ended1', 'running2', 'due1', 'due2', 'restBeside2', 'restOfEnded1'] as const),
  ...(['success', 'failure'] as const),
];

test.each(KINDS)('every way through two instances of a container with a %s probe', async (kind) => {
  const paths = simplePaths(probeEnvironment(kind), WAY);
  expect(paths.length).toBeGreaterThan(30);
  for (const path of paths) await replayProbe(simulatedGround(), kind, path, coverage);
});

test('no transition, state or guard is left out', () => {
  expect(coverage.uncovered()).toEqual([]);
});
