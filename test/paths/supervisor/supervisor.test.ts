/** The paths of the supervisor machine, replayed against the production supervisor on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { supervisorMachine } from '../../../src/agent/machines/supervisor-machine.ts';
import { Coverage } from '../coverage.ts';
import { simulatedPathNode } from '../path-node.ts';
import { shortestPaths, simplePaths } from '../paths.ts';
import { supervisorEnvironment } from './supervisor-environment.ts';
import { replaySupervisor } from './supervisor-replay.ts';

const coverage = new Coverage(supervisorMachine);

afterAll(() => coverage.print('all events in all states, and all paths'));

test.each([[['file', 'http']], [[]]])(
  'every possible event in every state, with sources %j',
  async (sources) => {
    const paths = shortestPaths(supervisorEnvironment(sources));
    expect(paths.length).toBeGreaterThan(100);
    for (const path of paths) await replaySupervisor(simulatedPathNode(), sources, path, coverage);
  },
);

test('every path through the sources, the runtime and the end', async () => {
  const paths = simplePaths(supervisorEnvironment(['file', 'http']), [
    'fileSeen',
    'httpSeen',
    'ready',
    'notReady',
    'leave',
    'leaveWithPods',
    'allPodsGone',
  ]);
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replaySupervisor(simulatedPathNode(), ['file', 'http'], path, coverage);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
