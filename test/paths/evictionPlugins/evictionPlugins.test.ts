/** The paths of the chart of eviction plugins, replayed against the production agent on the simulated runtime. */
import { afterAll, expect, test } from '@jest/globals';
import { evictionPluginsMachine } from '../../../src/machines/eviction-plugins-machine.ts';
import { Coverage } from '../coverage.ts';
import { shortestPaths, simplePaths } from '../paths.ts';
import { PLUGINS_ENVIRONMENT } from './plugins-environment.ts';
import { replayPlugins } from './plugins-replay.ts';

const coverage = new Coverage(evictionPluginsMachine);

afterAll(() => coverage.print('whatever comes, and every way'));

test('the agent follows the machine for every event in every state', async () => {
  const paths = shortestPaths(PLUGINS_ENVIRONMENT);
  expect(paths.length).toBeGreaterThan(40);
  for (const path of paths) await replayPlugins(path, coverage);
});

const WAY = [
  ...['due', 'dueForNone', 'pNames', 'pMeets', 'qQuiet', 'qMeets', 'pTop', 'qTop', 'qTopFails'],
  ...['choosesNone', 'choosesP', 'choosesQ', 'choosesBoth', 'handedOver'],
];

test('the agent follows the machine on every path', async () => {
  const paths = simplePaths(PLUGINS_ENVIRONMENT, WAY);
  expect(paths.length).toBeGreaterThan(20);
  for (const path of paths) await replayPlugins(path, coverage);
});

test('the paths cover every transition, state and guard', () => {
  expect(coverage.uncovered()).toEqual([]);
});
