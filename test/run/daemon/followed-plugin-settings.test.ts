/** Which of several sources of a setting counts, and which one is named. */
import { afterEach, expect, test } from '@jest/globals';
import { ClusterSettings } from '../../../src/agent/actors/plugins/cluster-settings.ts';
import { resolveConfig, type RunFlags } from '../../../src/agent/config/config.ts';
import { FollowedPluginSettings } from '../../../src/run/daemon/followed-plugin-settings.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { adminQoS, customNodeConfig } from '../../support/katalyst-objects.ts';
import { KatalystApi } from '../../support/katalyst-api.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { waitFor } from '../../support/wait-for.ts';
import { testContext } from '../../support/test-context.ts';

const CONFIG = { resource: 'customnodeconfigs', name: 'node-1' } as const;
const QOS = { resource: 'adminqosconfigurations', namespace: 'katalyst', name: 'all' } as const;

let api: KatalystApi;
let clock: VirtualClock;
let followed: FollowedPluginSettings;
let log: ReturnType<typeof recordingLogger>;

async function follow(flags: RunFlags): Promise<void> {
  api = new KatalystApi();
  clock = new VirtualClock();
  log = recordingLogger();
  const context = testContext({ clock, logger: log.logger });
  const cluster = new ClusterSettings(context, { api, nodeName: 'node-1', wantsUsers: false });
  followed = new FollowedPluginSettings(context, resolveConfig(flags), cluster);
  followed.start();
  await settled();
}

afterEach(() => followed.stop());

/** What the server says of the node is followed. */
async function until(what: string, holds: () => boolean): Promise<void> {
  await waitFor(
    async () => {
      await clock.advance(1);
      return holds();
    },
    { what },
  );
}

async function say(evictionConfig: object): Promise<void> {
  api.put(QOS, adminQoS(evictionConfig));
  api.put(CONFIG, customNodeConfig(QOS, JSON.stringify(evictionConfig)));
  await settled();
}

const from = (...names: readonly string[]) =>
  followed.explained
    .filter(({ name }) => names.includes(name))
    .map((one) => `${one.name} ${one.value} (${one.from})`);
const told = () => log.lines.map(({ level, message }) => `${level} ${message}`);

test("what the cluster sets for the node comes before the node's own flags, and only while it is set", async () => {
  await follow({ evictionPluginsDryRun: ['mine'], evictionPluginsBurst: 7 });
  const own = ['dryRun mine (--eviction-plugins-dry-run)', 'evictionBurst 7 (--eviction-plugins-burst)'];
  const shown = () => from('dryRun', 'evictionBurst');
  expect([shown(), followed.current.dryRun]).toEqual([own, ['mine']]);
  await say({ dryRun: ['*', '-good'] });
  await until('the dry run', () => followed.current.dryRun.length === 2);
  expect([shown(), followed.current.dryRun]).toEqual([
    ['dryRun *,-good (AdminQoSConfiguration katalyst/all)', ...own.slice(1)],
    ['*', '-good'],
  ]);
  await say({ dryRun: [] });
  await until('the own dry run', () => followed.current.dryRun.length === 1);
  expect(shown()).toEqual(own);
  await say({ dryRun: ['a', 'b'] });
  await until('the dry run', () => followed.current.dryRun.length === 2);
  api.remove(CONFIG);
  await until('the own dry run', () => followed.current.dryRun.length === 1);
  expect(shown()).toEqual(own);
  expect(told().slice(0, 2)).toEqual([
    'info Eviction plugins: dryRun is now *,-good, from AdminQoSConfiguration katalyst/all',
    'info Eviction plugins: dryRun is now mine, from --eviction-plugins-dry-run',
  ]);
});

test('thresholds of built-in plugins keep the names that they have in the cluster; settings of unknown plugins are left out', async () => {
  await follow({ evictionRssOveruseRateThreshold: 3 });
  await say({
    memoryPressureEvictionConfig: { rssOveruseRateThreshold: 1.2, ofTomorrow: true },
    registryDir: '/elsewhere',
  });
  await until('the threshold', () => followed.builtIn.rssOveruse.factor === 1.2);
  expect(from('memoryPressureEvictionConfig.rssOveruseRateThreshold')).toEqual([
    'memoryPressureEvictionConfig.rssOveruseRateThreshold 1.2 (AdminQoSConfiguration katalyst/all)',
  ]);
  expect(followed.current.registryDir).not.toContain('elsewhere');
});

test.each([
  ['another type', { dryRun: { all: true } }, 'evictionPlugins.dryRun: must be'],
  [
    'a value without sense',
    { memoryPressureEvictionConfig: { rssOveruseRateThreshold: -1 } },
    'rssOveruseRateThreshold: must be',
  ],
])('an object with %s changes nothing, and the reason is shown', async (_, evictionConfig, problem) => {
  await follow({ evictionPluginsDryRun: ['mine'] });
  await say(evictionConfig);
  await until('the problem', () => followed.problem !== undefined);
  expect(followed.problem).toContain('AdminQoSConfiguration katalyst/all: ');
  expect(followed.problem).toContain(problem);
  expect(followed.current.dryRun).toEqual(['mine']);
});
