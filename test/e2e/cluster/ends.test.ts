/** What ends pods of a cluster: eviction, preemption, taints, drain. */
import { afterEach, expect, test } from '@jest/globals';
import { conditionOf, describeOnCluster } from '../../support/cluster-suite.ts';
import { NODE_NAME } from '../../support/daemon.ts';
import { KUBECTL_PATIENCE, waitFor } from '../../support/wait-for.ts';

const options = {
  controlPlane: { with: ['kube-controller-manager', 'kube-scheduler'] as const },
  config: { systemReserved: { cpu: '1' } },
};

describeOnCluster('the end of a pod of the API server', options, (cluster) => {
  afterEach(() => cluster.clear());

  test('a pod that uses more local storage than its limit is evicted, with the status and events of the kubelet', async () => {
    const limits = { 'ephemeral-storage': '1Mi' };
    const script = 'dd if=/dev/zero of=/big bs=1M count=8; sleep 1000';
    await cluster.create('greedy', { containers: [cluster.shell(script, { resources: { limits } })] });
    const { status } = await cluster.podIs('evicted', 'greedy', (pod) => pod.status?.phase === 'Failed');
    expect(status).toMatchObject({ reason: 'Evicted' });
    expect(status?.message).toMatch(
      /exceeded its local ephemeral storage limit|ephemeral local storage usage exceeds/u,
    );
    expect(await cluster.eventsOf('greedy')).toEqual(expect.arrayContaining(['Evicted', 'Killing']));
  });

  test('an ordinary pod is preempted for a critical one', async () => {
    const whole = { resources: { requests: { cpu: '900m' } } };
    await cluster.create('ordinary', { containers: [cluster.server(whole)] });
    await cluster.podIsReady('ordinary');
    await cluster.controlPlane.kubectl('-n', 'kube-system', 'get', 'pods');
    await cluster.create('critical', {
      priorityClassName: 'system-node-critical',
      containers: [cluster.server(whole)],
    });
    const { status } = await cluster.podIs('preempted', 'ordinary', (pod) => pod.status?.phase === 'Failed');
    expect(status).toMatchObject({ reason: 'Preempting' });
    expect(conditionOf(status, 'DisruptionTarget')).toBe('True');
    await cluster.podIsReady('critical');
  });

  test('a pod that does not fit is rejected', async () => {
    await cluster.create('large', {
      containers: [cluster.server({ resources: { requests: { cpu: '64' } } })],
    });
    const { status } = await cluster.podIs('rejected', 'large', (pod) => pod.status?.phase === 'Failed');
    expect(status?.reason).toBe('OutOfcpu');
    expect(status?.message).toMatch(/^Pod was rejected: Node didn't have enough resource: cpu/u);
    expect(await cluster.eventsOf('large')).toContain('OutOfcpu');
  });

  test('a deleted namespace takes its pods with it, and events that come too late are no warnings', async () => {
    const { controlPlane } = cluster;
    await controlPlane.kubectl('create', 'namespace', 'going');
    const slow = { preStop: { exec: { command: ['sleep', '1'] } } };
    const pods = {
      server: cluster.server(),
      slow: cluster.server({ lifecycle: slow }),
      crashing: cluster.shell('exit 1'),
      unready: cluster.server({ readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1 } }),
      imageless: { ...cluster.server(), image: 'registry.invalid/nothing:1' },
    };
    const own = {
      automountServiceAccountToken: false,
      nodeName: NODE_NAME,
      terminationGracePeriodSeconds: 5,
    };
    for (const [name, container] of Object.entries(pods)) {
      const metadata = { name, namespace: 'going' };
      await controlPlane.apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata,
        spec: { ...own, containers: [container] },
      });
    }
    const here = async () =>
      (await cluster.daemon.pods()).filter(({ metadata }) => metadata.namespace === 'going');
    await waitFor(
      async () => (await here()).filter(({ status }) => status?.phase === 'Running').length === 4,
      { what: 'the pods to run' },
    );
    await controlPlane.kubectl('delete', 'namespace', 'going', '--wait=false');
    await waitFor(async () => (await controlPlane.read('/api/v1/namespaces/going')) === undefined, {
      what: 'the namespace to be gone',
    });
    await waitFor(async () => (await here()).length === 0, { what: 'the agent to have forgotten the pods' });
    // Events are sent in turn: this one comes after those of the namespace.
    await cluster.create('after', { containers: [cluster.server()] });
    await waitFor(async () => (await cluster.eventsOf('after')).includes('Started'), {
      what: 'later events',
    });
    const warned = cluster.daemon.log.filter(({ level, msg }) => level === 'warn' && /event/iu.test(msg));
    expect(warned).toEqual([]);
  });

  test('a label that was put on the node just now is seen', async () => {
    await cluster.controlPlane.kubectl('label', 'node', NODE_NAME, 'example.com/zone=a');
    await cluster.create('selective', {
      nodeSelector: { 'example.com/zone': 'a' },
      containers: [cluster.server()],
    });
    await cluster.podIsReady('selective');
  });

  test('drain evicts all pods and leaves static ones', async () => {
    await cluster.create('drained', { containers: [cluster.server()] });
    await cluster.podIsReady('drained');
    await cluster.controlPlane.kubectl('drain', NODE_NAME, '--force', KUBECTL_PATIENCE);
    expect(await cluster.pod('drained')).toBeUndefined();
    expect((await cluster.node()).spec?.unschedulable).toBe(true);
    await cluster.controlPlane.kubectl('uncordon', NODE_NAME);
    await cluster.create('scheduled', { nodeName: undefined, containers: [cluster.server()] });
    await cluster.podIsReady('scheduled');
  });
});
