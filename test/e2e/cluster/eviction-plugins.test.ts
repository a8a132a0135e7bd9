/** A plugin in a process of its own chooses pods of a cluster, and says something of the node. */
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  type EvictionPluginDefinition,
  type RunningEvictionPlugin,
  startEvictionPlugin,
} from '../../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import { conditionOf, describeOnCluster } from '../../support/cluster-suite.ts';
import { waitFor } from '../../support/wait-for.ts';

const TAINT = 'katalyst.kubewharf.io/TooManyCooks';
const options = { controlPlane: { with: ['kube-controller-manager'] as const } };
const FLAGS = [
  ...['--eviction-plugins', '--eviction-plugins-inner', 'none-of-them'],
  ...['--eviction-plugins-sync-period', '500ms', '--eviction-plugins-condition-transition-period', '2s'],
  ...['--eviction-plugins-killers', 'reclaimed_cores=SyncPodKill,dedicated_cores=DeletionAPI'],
];

describeOnCluster('eviction plugins in a cluster', options, (cluster) => {
  let plugin: RunningEvictionPlugin;
  /** Names of pods that are to go. */
  let unwanted: readonly string[];
  let holds: boolean;

  beforeAll(async () => {
    await cluster.daemon.end();
    const writer = ['--eviction-plugins-taints-kubeconfig', cluster.controlPlane.adminKubeconfig];
    await cluster.startDaemon(...FLAGS, ...writer);
    await cluster.nodeIsReady();
  });
  beforeEach(async () => {
    unwanted = [];
    holds = false;
    const evictPods: EvictionPluginDefinition['evictPods'] = ({ activePods }) => ({
      evictPods: activePods
        .filter(({ metadata }) => unwanted.includes(metadata.name))
        .map((pod) => ({ pod, reason: 'there is one too many', forceEvict: true })),
      condition: { name: 'TooManyCooks', effects: ['NoSchedule'], met: holds },
    });
    plugin = await startEvictionPlugin(
      { name: 'chooser', evictPods },
      {
        registryDir: join(cluster.bed.rootDir, 'plugins_registry'),
        handleSignals: false,
        log: () => undefined,
      },
    );
    await waitFor(() => plugin.registration() === 'Registered', { what: 'the registration' });
  });
  afterEach(async () => {
    await plugin.stop();
    await cluster.clear();
  });

  const run = async (name: string, level: string) => {
    const annotations = { 'katalyst.kubewharf.io/qos_level': level };
    await cluster.create(name, { containers: [cluster.server()] }, { annotations, labels: { app: name } });
    return cluster.podIsReady(name);
  };

  test('a pod goes through the Eviction API, another through deletion; a third stays', async () => {
    for (const [name, level] of [
      ['shared', 'shared_cores'],
      ['dedicated', 'dedicated_cores'],
      ['wanted', 'shared_cores'],
    ] as const)
      await run(name, level);
    unwanted = ['shared', 'dedicated'];
    await cluster.podIsGone('shared');
    await cluster.podIsGone('dedicated');
    await waitFor(async () => (await cluster.eventsOf('shared')).includes('Evicted'), { what: 'the event' });
    expect((await cluster.pod('wanted'))?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('a pod that this node ends itself is Failed, and its status names the plugin that chose it', async () => {
    await run('reclaimed', 'reclaimed_cores');
    unwanted = ['reclaimed'];
    const { status } = await cluster.podIs('evicted', 'reclaimed', (pod) => pod.status?.phase === 'Failed');
    expect(status).toMatchObject({
      reason: 'Evicted',
      message: 'Eviction plugin chooser chose this pod: there is one too many',
    });
    expect(conditionOf(status, 'DisruptionTarget')).toBe('True');
  });

  test('a pod that a disruption budget protects goes when the budget is gone', async () => {
    await run('protected', 'shared_cores');
    await cluster.controlPlane.apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'protected', namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'protected' } } },
    });
    unwanted = ['protected'];
    const line = await cluster.daemon.logged('the refusal', ({ msg }) =>
      msg.startsWith('The pod could not be ended for a plugin'),
    );
    expect(line.msg).toContain("violate the pod's disruption budget");
    expect((await cluster.pod('protected'))?.metadata.deletionTimestamp).toBeUndefined();
    await cluster.controlPlane.kubectl('delete', 'pdb', 'protected');
    await cluster.podIsGone('protected');
  });

  test('a condition that the plugin reports for the node becomes a taint, which is removed when it is over; other taints stay', async () => {
    const { nodeName } = cluster.controlPlane;
    await cluster.controlPlane.kubectl('taint', 'node', nodeName, 'of-others=x:PreferNoSchedule');
    const keys = ({ spec }: { readonly spec?: { readonly taints?: readonly { readonly key: string }[] } }) =>
      (spec?.taints ?? []).map(({ key }) => key);
    holds = true;
    const tainted = await cluster.nodeIs('tainted', (node) => keys(node).includes(TAINT));
    expect(tainted.spec?.taints).toContainEqual({ key: TAINT, effect: 'NoSchedule' });
    expect(keys(tainted)).toContain('of-others');
    holds = false;
    const freed = await cluster.nodeIs('free of the taint', (node) => !keys(node).includes(TAINT));
    expect(keys(freed)).toContain('of-others');
    await cluster.controlPlane.kubectl('taint', 'node', nodeName, 'of-others-');
  });
});
