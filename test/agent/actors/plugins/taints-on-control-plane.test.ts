/** Conditions of plugins become taints of the node on a real API server: with rights for it, and with those of a node. */
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Subscription } from 'rxjs';
import { ConditionTaints } from '../../../../src/agent/actors/plugins/condition-taints.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { KubeconfigCredentials } from '../../../../src/agent/cluster/credentials/kubeconfig-credentials.ts';
import type { ApiClients } from '../../../../src/agent/cluster/service/api-server.ts';
import { watchNode } from '../../../../src/agent/cluster/watches/watched-object.ts';
import { taintedNode, type TaintedNodeParts } from '../../../../src/agent/actors/plugins/tainted-objects.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { PluginCondition } from '../../../../src/types/eviction-plugin.ts';
import type { Node, Taint } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { testContext } from '../../../support/test-context.ts';

const PREFIX = 'katalyst.kubewharf.io/';
const LOOK_MS = 5_000;
const PRESSURE: PluginCondition = {
  name: 'MemoryPressure',
  type: 'NODE_CONDITION',
  effects: ['NoSchedule', 'NoExecute'],
  met: true,
};

describeOnControlPlane('taints of conditions', (controlPlane) => {
  let node: ApiClients & { close(): void };
  let tainter: ApiClients & { close(): void };
  let watch: Subscription;
  let seen: Node | undefined;
  let taints: ConditionTaints | undefined;
  let clock: VirtualClock;
  let conditions: readonly PluginCondition[];
  let log: ReturnType<typeof recordingLogger>;

  beforeAll(async () => {
    await controlPlane.apply(
      { apiVersion: 'v1', kind: 'Node', metadata: { name: controlPlane.nodeName } },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'tainter' },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'patch'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'tainter' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'tainter' },
        subjects: [{ kind: 'User', name: 'tainter', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    );
    controlPlane.ca.issue({ name: 'tainter', commonName: 'tainter', usage: 'client auth' });
  });
  beforeEach(async () => {
    clock = new VirtualClock();
    conditions = [];
    log = recordingLogger();
    const kubeconfig = controlPlane.writeKubeconfig('tainter', controlPlane.ca.filesOf('tainter'));
    const context = testContext({ clock: systemClock, logger: log.logger });
    const credentials = new KubeconfigCredentials(context, kubeconfig);
    tainter = openApiClients(credentials, new ObservedConnection(), { userAgent: 'statelet/test' });
    node = openApiClients(new FixedCredentials(controlPlane.details('node')), new ObservedConnection(), {
      userAgent: 'statelet/test',
    });
    const timing = { clock: systemClock, random: Math.random };
    watch = watchNode(node.main, controlPlane.nodeName, timing).subscribe(({ object }) => (seen = object));
    await waitFor(() => seen !== undefined, { what: 'the Node object' });
  });
  afterEach(async () => {
    taints?.stop();
    watch.unsubscribe();
    node.close();
    tainter.close();
    const patch = '--patch={"spec":{"taints":null}}';
    await controlPlane.kubectl('patch', 'node', controlPlane.nodeName, '--type=merge', patch);
  });

  function start(api: TaintedNodeParts['api']): ConditionTaints {
    taints = new ConditionTaints(testContext({ clock, logger: log.logger }), {
      object: taintedNode({
        api,
        nodeName: controlPlane.nodeName,
        node: () => seen,
      }),
      conditions: { conditions: () => conditions },
      conditionTransitionPeriodMs: 0,
    });
    taints.start();
    return taints;
  }

  const taint = (text: string) => controlPlane.kubectl('taint', 'node', controlPlane.nodeName, text);
  const now = async (): Promise<readonly Taint[]> =>
    (await controlPlane.kubectlJson<Node>('get', 'node', controlPlane.nodeName)).spec?.taints ?? [];
  const keys = (all: readonly Taint[] = []) => all.map(({ key, effect }) => `${key}:${effect}`).toSorted();
  const warnings = () => log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  /** The time of the next look, after the watch has shown what there is. */
  async function look(): Promise<void> {
    const there = keys(await now());
    await waitFor(() => keys(seen?.spec?.taints).join() === there.join(), { what: 'the watch' });
    await clock.advance(LOOK_MS);
  }
  const until = (wanted: readonly string[]) =>
    waitFor(async () => keys(await now()).join() === wanted.toSorted().join(), {
      what: `the taints ${wanted.join()}`,
    });

  test('appear and disappear with the conditions; those of other clients stay as they are', async () => {
    await taint('dedicated=x:NoSchedule');
    await taint('of.others/reason=y:NoExecute');
    const others = await now();
    start(tainter.main);
    conditions = [PRESSURE];
    await look();
    const [mine, theirs] = [
      ['NoSchedule', 'NoExecute'].map((effect) => `${PREFIX}MemoryPressure:${effect}`),
      keys(others),
    ];
    await until([...mine, ...theirs]);
    expect(await now()).toEqual(expect.arrayContaining([...others]));
    conditions = [{ ...PRESSURE, effects: ['NoSchedule'] }];
    await look();
    await until([mine[0]!, ...theirs]);
    conditions = [];
    await look();
    await until(theirs);
    expect([await now(), warnings()]).toEqual([others, []]);
  });

  test('a taint that another client sets between reading and writing is not lost', async () => {
    let isLate = true;
    start({
      get: (...args) => tainter.main.get(...args),
      patch: async (...args) => {
        if (isLate) await taint('late=x:NoSchedule');
        isLate = false;
        return tainter.main.patch(...args);
      },
    });
    conditions = [PRESSURE];
    await look();
    const mine = ['NoSchedule', 'NoExecute'].map((effect) => `${PREFIX}MemoryPressure:${effect}`);
    await until(['late:NoSchedule', ...mine]);
    expect(warnings()).toEqual([]);
  });

  test('with the rights of a node are refused, which is logged once with the right that is missing', async () => {
    await taint(`${PREFIX}of-an-earlier-run=x:NoSchedule`);
    const actor = start(node.main);
    conditions = [PRESSURE];
    await look();
    await waitFor(() => actor.current.state === 'BackingOff', { what: 'the refusal' });
    expect(warnings()).toEqual([
      expect.stringMatching(/is not allowed to modify taints.*taintsKubeconfig.*NodeRestriction/u),
    ]);
    expect(keys(await now())).toEqual([`${PREFIX}of-an-earlier-run:NoSchedule`]);
  });
});
