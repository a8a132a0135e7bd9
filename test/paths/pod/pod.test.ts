/** Every possible event in every state of a pod, replayed against the production actor on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { podMachine } from '../../../src/machines/pod-machine.ts';
import { Coverage } from '../coverage.ts';
import { simulatedPathNode } from '../path-node.ts';
import { shortestPaths, shortestPathsToStates } from '../paths.ts';
import { API_POD_EVENTS, podEnvironment } from './pod-environment.ts';
import { replayPod } from './pod-replay.ts';

const coverage = new Coverage(podMachine);

afterAll(() => coverage.print('whatever comes'));

test.each(['nothing', 'ended', 'running'] as const)(
  'the actor of a static pod follows the machine for every event in every state if runtimeHolds is %s',
  async (holds) => {
    const paths = shortestPaths(podEnvironment(holds));
    expect(paths.length).toBeGreaterThan(500);
    for (const path of paths) await replayPod(simulatedPathNode(), holds, path, coverage);
  },
  120_000,
);

test('the actor of a pod from the API server follows the machine into every state', async () => {
  for (const path of shortestPathsToStates(podEnvironment('nothing', API_POD_EVENTS)))
    await replayPod(simulatedPathNode(), 'nothing', path, coverage);
});

test('the paths cover every transition, state and guard', () => {
  expect(coverage.uncovered()).toEqual([]);
});
