/** Every possible event in every state of a pod, replayed against the production actor on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { podMachine } from '../../../src/agent/machines/pod-machine.ts';
import { Coverage } from '../coverage.ts';
import { simulatedPathNode } from '../path-node.ts';
import { shortestPaths, shortestPathsToStates, simplePaths } from '../paths.ts';
import { API_POD_EVENTS, podEnvironment, type PodEventName } from './pod-environment.ts';
import { replayPod } from './pod-replay.ts';

const coverage = new Coverage(podMachine);

afterAll(() => coverage.print('whatever comes, and whole lives'));

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

const ONWARDS: readonly PodEventName[] = [
  ...(['create', 'runtimeReady', 'removed', 'nameGranted', 'admitted'] as const),
  ...(['synced', 'stopped', 'cleanedUp'] as const),
];

const LIVES: Readonly<Record<string, readonly PodEventName[]>> = {
  'failures all the way': ['syncFailed', 'sync', 'kill', 'atRest', 'stopFailed', 'cleanupFailed'],
  'kills with less and less grace': ['kill', 'killIn10', 'evictIn1', 'atRest'],
  'updates and deletions': ['sync', 'update', 'deleted', 'deletedSooner', 'atRest'],
  'a natural end, and kills that come too late': ['syncedToTheEnd', 'kill', 'killIn10', 'stopFailed', 'sync'],
  'waits before the start': [
    'nameTaken',
    'short',
    'noRoom',
    'roomFreed',
    'rejected',
    'runtimeLost',
    'deleted',
    'kill',
    'evictIn1',
  ],
  'more to do': ['update', 'syncedMoreToDo', 'syncFailedMoreToDo', 'sync', 'kill'],
};

test.each(Object.entries(LIVES))(
  '%s',
  async (_, events) => {
    const paths = simplePaths(podEnvironment('nothing'), [...ONWARDS, ...events]);
    expect(paths.length).toBeGreaterThan(100);
    for (const path of paths) await replayPod(simulatedPathNode(), 'nothing', path, coverage);
  },
  120_000,
);
