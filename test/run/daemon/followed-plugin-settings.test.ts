/** Which of several sources of a setting counts, and which one is named. */
import { expect, test } from '@jest/globals';
import { ClusterSettings } from '../../../src/agent/actors/plugins/cluster-settings.ts';
import { resolveConfig } from '../../../src/agent/config/config.ts';
import { FollowedPluginSettings } from '../../../src/run/daemon/followed-plugin-settings.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { adminQoS, customNodeConfig } from '../../support/katalyst-objects.ts';
import { KatalystApi } from '../../support/katalyst-api.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { testContext } from '../../support/test-context.ts';

const CONFIG = { resource: 'customnodeconfigs', name: 'node-1' } as const;
const QOS = { resource: 'adminqosconfigurations', namespace: 'katalyst', name: 'all' } as const;

test("what the cluster sets for the node comes before the node's own flags, and only while it is set", async () => {
  const api = new KatalystApi();
  const { logger, lines } = recordingLogger();
  const context = testContext({ clock: new VirtualClock(), logger });
  const flags = { evictionPluginsDryRun: ['mine'], evictionPluginsBurst: '7' };
  const cluster = new ClusterSettings(context, { api, nodeName: 'node-1' });
  const followed = new FollowedPluginSettings(context, resolveConfig(flags), cluster);
  followed.start();
  await settled();
  const shown = () =>
    followed.explained.slice(0, 3).map(({ name, value, from }) => `${name} ${value} (${from})`);
  const own = [
    'dryRun mine (--eviction-plugins-dry-run)',
    'evictionBurst 7 (--eviction-plugins-burst)',
    'conditionTransitionPeriod 5m (the default)',
  ];
  expect([shown(), followed.current.dryRun]).toEqual([own, ['mine']]);
  api.put(QOS, adminQoS({ dryRun: ['*', '-good'] }));
  api.put(CONFIG, customNodeConfig(QOS, 'h'));
  await settled();
  expect([shown(), followed.current.dryRun]).toEqual([
    ['dryRun *,-good (AdminQoSConfiguration katalyst/all)', ...own.slice(1)],
    ['*', '-good'],
  ]);
  api.remove(CONFIG);
  await settled();
  expect([shown(), followed.current.dryRun]).toEqual([own, ['mine']]);
  await followed.stop();
  expect(lines.map(({ message }) => message)).toEqual([
    'Eviction plugins: dryRun is now *,-good, from AdminQoSConfiguration katalyst/all',
    'Eviction plugins: dryRun is now mine, from --eviction-plugins-dry-run',
  ]);
});
