/** The paths of a plugin's chart, replayed against the production actor and a plugin of the test. */
import { afterAll, expect, test } from '@jest/globals';
import { pluginMachine } from '../../../src/agent/machines/plugin-machine.ts';
import { Coverage } from '../coverage.ts';
import { shortestPaths, simplePaths } from '../paths.ts';
import { pluginEnvironment } from './plugin-environment.ts';
import { replayPlugin } from './plugin-replay.ts';

const coverage = new Coverage(pluginMachine);

afterAll(() => coverage.print('all events in all states'));

test('every possible event in every state', async () => {
  const paths = shortestPaths(pluginEnvironment);
  expect(paths.length).toBeGreaterThan(60);
  for (const path of paths) await replayPlugin(path, coverage);
});

test('every sequence of a registration that fails in every way before it succeeds', async () => {
  const among = ['accepted', 'refused', 'notAnswered', 'told', 'notTold', 'retry'];
  const paths = simplePaths(pluginEnvironment, among);
  expect(paths.length).toBeGreaterThan(60);
  for (const path of paths) await replayPlugin(path, coverage);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
