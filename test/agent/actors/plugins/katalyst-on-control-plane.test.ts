/** Katalyst's objects on an API server: taints of the node's CustomNodeResource, and what other objects say of plugins for it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ClusterSettings } from '../../../../src/agent/actors/plugins/cluster-settings.ts';
import { ConditionTaints } from '../../../../src/agent/actors/plugins/condition-taints.ts';
import { TaintedCustomNodeResource } from '../../../../src/agent/actors/plugins/tainted-objects.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { PluginCondition } from '../../../../src/types/eviction-plugin.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { adminQoS, customNodeConfig, KATALYST_DEFINITIONS } from '../../../support/katalyst-objects.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

const HOT: PluginCondition = {
  ...{ name: 'Hot', type: 'CNR_CONDITION', met: true },
  effects: ['reclaimed_cores/NoSchedule'],
};
const QOS = { resource: 'adminqosconfigurations', namespace: 'default', name: 'all' } as const;

const AUTH = { resource: 'authconfigurations', namespace: 'default', name: 'users' } as const;

describeOnControlPlane("Katalyst's objects", (controlPlane) => {
  let cluster: ClusterSettings;
  let clients: ReturnType<typeof openApiClients>;
  const kubectl = (...args: readonly string[]) => controlPlane.kubectl(...args);

  beforeAll(() => {
    const credentials = new FixedCredentials(controlPlane.details('admin'));
    clients = openApiClients(credentials, new ObservedConnection(), { userAgent: 'statelet/test' });
    cluster = new ClusterSettings(testContext({ clock: systemClock }), {
      ...{ api: clients.main, nodeName: controlPlane.nodeName, wantsUsers: true },
    });
  });
  afterAll(() => {
    cluster.stop();
    clients.close();
  });

  test('are not served before they are installed; the agent waits for that', async () => {
    cluster.start(() => undefined);
    expect(await clients.main.isServed('customnodeconfigs')).toBe(false);
    expect(await clients.main.isServed('nodes')).toBe(true);
    await controlPlane.apply(...KATALYST_DEFINITIONS);
    for (const resource of ['customnoderesources', 'customnodeconfigs', 'adminqosconfigurations'] as const)
      await waitFor(() => clients.main.isServed(resource), { what: resource });
  });

  test('conditions become taints of the CustomNodeResource, which is made; those of others stay', async () => {
    const [clock, name] = [new VirtualClock(), controlPlane.nodeName];
    let conditions: readonly PluginCondition[] = [HOT];
    const object = new TaintedCustomNodeResource(testContext({ clock: systemClock }), clients.main, name);
    const taints = new ConditionTaints(testContext({ clock }), {
      object,
      conditions: { conditions: () => conditions },
      conditionTransitionPeriodMs: 0,
    });
    taints.start();
    const keys = async () => {
      const all = await controlPlane.kubectlJson<{ items: { spec?: { taints?: { key: string }[] } }[] }>(
        ...['get', 'customnoderesources'],
      );
      return all.items.map(({ spec }) => (spec?.taints ?? []).map(({ key }) => key).join());
    };
    const until = async (wanted: string) => {
      await waitFor(
        async () => {
          await clock.advance(5_000);
          return (await keys()).join() === wanted;
        },
        { what: `the taints ${wanted}` },
      );
    };
    try {
      await until('katalyst.kubewharf.io/Hot');
      const others = '{"spec":{"taints":[{"key":"others","effect":"NoExecute","qosLevel":"shared_cores"}]}}';
      await kubectl('patch', 'customnoderesource', name, '--type=merge', `--patch=${others}`);
      await until('others,katalyst.kubewharf.io/Hot');
      conditions = [];
      await until('others');
      expect(taints.current.problem).toBeUndefined();
    } finally {
      taints.stop();
    }
  });

  test('what the AdminQoSConfiguration and the AuthConfiguration for the node say holds until they are for the node no longer', async () => {
    const name = controlPlane.nodeName;
    const write = async (dryRun: string, hash: string) => {
      const { name: qos, namespace } = QOS;
      const head = { apiVersion: 'config.katalyst.kubewharf.io/v1alpha1' };
      await controlPlane.apply(
        {
          ...{ ...head, kind: 'AdminQoSConfiguration', metadata: { name: qos, namespace } },
          ...adminQoS({ dryRun: [dryRun] }),
        },
        {
          ...{ ...head, kind: 'AuthConfiguration', metadata: { name: AUTH.name, namespace: AUTH.namespace } },
          spec: {
            config: { basicAuthConfig: { userPasswordPairs: [{ username: 'u', password: btoa(dryRun) }] } },
          },
        },
        { ...head, kind: 'CustomNodeConfig', metadata: { name } },
      );
      const list = [QOS, AUTH].flatMap(
        (target) => customNodeConfig(target, hash).status.katalystCustomConfigList,
      );
      const patch = `--patch=${JSON.stringify({ status: { katalystCustomConfigList: list } })}`;
      await kubectl('patch', 'customnodeconfig', name, '--subresource=status', '--type=merge', patch);
    };
    const names = () => {
      const config: { dryRun?: string[] } | undefined = cluster.config?.evictionConfig;
      return config?.dryRun?.join();
    };
    const until = (wanted: string | undefined) =>
      waitFor(() => names() === wanted && cluster.users?.passwords.get('u') === wanted, {
        what: `dry run of ${wanted}, and that password`,
      });
    await write('one', 'h1');
    await until('one');
    expect(cluster.config?.origin).toBe('AdminQoSConfiguration default/all');
    await write('two', 'h2');
    await until('two');
    await kubectl('delete', 'customnodeconfig', name);
    await until(undefined);
    expect(cluster.problem).toBeUndefined();
  });
});
