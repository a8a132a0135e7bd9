/** The paths of the pod kill machine, replayed against the production actor. */
import { afterAll, expect, test } from '@jest/globals';
import { podKillMachine } from '../../../src/agent/machines/pod-kill-machine.ts';
import { Coverage } from '../coverage.ts';
import { shortestPaths } from '../paths.ts';
import { replaying } from '../replaying.ts';
import { podKillEnvironment } from './podKill-environment.ts';
import { PodKillReplay } from './podKill-replay.ts';

const coverage = new Coverage(podKillMachine);

afterAll(() => coverage.print('all events in all states'));

test.each([
  ['server', 500],
  ['node', 15],
] as const)('every event in every state, asked of the %s', async (asked, atLeast) => {
  const paths = shortestPaths(podKillEnvironment(asked));
  expect(paths.length).toBeGreaterThan(atLeast);
  for (const path of paths) {
    const it = new PodKillReplay(asked, path, coverage);
    const steps = async () => {
      await it.begin();
      for (const index of path.keys()) await it.step(index);
    };
    await replaying({ path, coverage, of: asked, steps, end: () => it.stop() });
  }
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
