/** The paths of the pod machine, replayed against the production actor on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { podMachine } from '../../src/machines/pod-machine.ts';
import { Coverage } from './coverage.ts';
import { simulatedGround } from './ground.ts';
import { shortestPaths, simplePaths } from './paths.ts';
import { podEnvironment, type PodEventName } from './pod-environment.ts';
import { replayPod } from './pod-replay.ts';

const coverage = new Coverage(podMachine);

afterAll(() => coverage.print());

test.each(['nothing', 'ended', 'running'] as const)(
  'whatever comes in whatever state, when the runtime holds %s',
  async (holds) => {
    const paths = shortestPaths(podEnvironment(holds));
    expect(paths.length).toBeGreaterThan(500);
    for (const path of paths) await replayPod(simulatedGround(), holds, path, coverage);
  },
);

const ONWARDS: readonly PodEventName[] = ['create', 'granted', 'synced', 'stopped', 'cleanedUp'];
const WAYS: Readonly<Record<string, readonly PodEventName[]>> = {
  'failures all the way': ['syncFailed', 'sync', 'kill', 'atRest', 'stopFailed', 'cleanupFailed'],
  'kills with less and less grace': ['kill', 'killIn10', 'evictIn1', 'atRest'],
  'updates and deletions': ['sync', 'update', 'deleted', 'deletedSooner', 'atRest'],
  'a natural end, and kills that come too late': ['syncedToTheEnd', 'kill', 'killIn10', 'stopFailed', 'sync'],
  'more to do': ['update', 'syncedMoreToDo', 'syncFailedMoreToDo', 'sync', 'kill'],
};

test.each(Object.entries(WAYS))('every way through a life: %s', async (_, events) => {
  const paths = simplePaths(podEnvironment('nothing'), [...ONWARDS, ...events]);
  expect(paths.length).toBeGreaterThan(100);
  for (const path of paths) await replayPod(simulatedGround(), 'nothing', path, coverage);
});

test('no transition, state or guard is left out', () => {
  expect(coverage.uncovered()).toEqual([]);
});
