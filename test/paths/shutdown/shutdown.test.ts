/** The paths of the shutdown machine, replayed against the production actor. */
import { afterAll, expect, test } from '@jest/globals';
import { shutdownMachine } from '../../../src/agent/machines/shutdown-machine.ts';
import { Coverage } from '../coverage.ts';
import { type Path, shortestPaths } from '../paths.ts';
import { replaying } from '../replaying.ts';
import { environment } from './shutdown-environment.ts';
import { ShutdownReplay } from './shutdown-replay.ts';

const coverage = new Coverage(shutdownMachine);

afterAll(() => coverage.print('all events in all states'));

async function replay(path: Path<typeof shutdownMachine>): Promise<void> {
  const it = new ShutdownReplay(coverage);
  const steps = async () => {
    for (const step of path) await it.step(step);
    await it.stop();
  };
  await replaying({ path, coverage, steps });
}

test('every event in every state', async () => {
  const paths = shortestPaths(environment);
  expect(paths.length).toBeGreaterThan(30);
  for (const path of paths) await replay(path);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});

test('pods of which nothing is left to end hold up no group', async () => {
  const it = new ShutdownReplay(new Coverage(shutdownMachine), false);
  await it.bringAbout('shutdown');
  expect(it.killed).toEqual(['uid-of-web', 'uid-of-shop', 'uid-of-dns']);
  expect(it.state?.value).toEqual({ ShuttingDown: 'Ended' });
  await it.stop();
});
