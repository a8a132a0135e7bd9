/** The paths of the supervisor machine, replayed against the production supervisor on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { supervisorMachine } from '../../../src/machines/supervisor-machine.ts';
import { Coverage } from '../coverage.ts';
import { simulatedGround } from '../ground.ts';
import { shortestPaths, simplePaths } from '../paths.ts';
import { supervisorEnvironment } from './supervisor-environment.ts';
import { replaySupervisor } from './supervisor-replay.ts';

const coverage = new Coverage(supervisorMachine);

afterAll(() => coverage.print('whatever comes, and every way'));

test.each([[['file', 'http']], [[]]])(
  'whatever comes in whatever state, with sources %j',
  async (sources) => {
    const paths = shortestPaths(supervisorEnvironment(sources));
    expect(paths.length).toBeGreaterThan(100);
    for (const path of paths) await replaySupervisor(simulatedGround(), sources, path, coverage);
  },
);

test('every way through the sources, the runtime and the end', async () => {
  const paths = simplePaths(supervisorEnvironment(['file', 'http']), [
    ...['fileSeen', 'httpSeen', 'ready', 'notReady', 'leave', 'leaveWithPods', 'allPodsGone'],
  ]);
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replaySupervisor(simulatedGround(), ['file', 'http'], path, coverage);
});

test('no transition, state or guard is left out', () => {
  expect(coverage.uncovered()).toEqual([]);
});
