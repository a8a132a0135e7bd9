/** An agent that ends with its pods: who made them learns that they are over, and the node is not ready any more. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ApiFaultProxy } from '../../support/api/fault-proxy.ts';
import { conditionOf, describeOnCluster } from '../../support/cluster-suite.ts';

describeOnCluster('an agent that ends with its pods', (cluster) => {
  let proxy: ApiFaultProxy;

  beforeEach(async () => {
    proxy = await new ApiFaultProxy(cluster.controlPlane).open();
    await cluster.daemon.end();
    await cluster.startDaemon('--exit-with-pods', '--kubeconfig', proxy.kubeconfig());
  });

  afterEach(async () => {
    await cluster.startDaemon();
    await cluster.clear();
    await proxy.close();
  });

  test('reports all of them to the API server before it ends, and that the node is not ready', async () => {
    await cluster.create('web', { containers: [cluster.server()] });
    await cluster.create('job', { restartPolicy: 'OnFailure', containers: [cluster.server()] });
    await cluster.podIsReady('web');
    await cluster.podIsReady('job');
    proxy.delay({ method: 'PATCH', path: /status/u }, 300);
    expect(await cluster.daemon.end()).toBe(0);
    for (const name of ['web', 'job']) {
      const { status } = (await cluster.pod(name))!;
      expect(status).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
      expect(conditionOf(status, 'DisruptionTarget')).toBe('True');
    }
    expect(conditionOf((await cluster.node()).status, 'Ready')).toBe('False');
  });

  test('ends although the API server does not answer', async () => {
    await cluster.create('web', { containers: [cluster.server()] });
    await cluster.podIsReady('web');
    proxy.ignore({});
    expect(await cluster.daemon.end()).toBe(0);
    expect(await cluster.bed.containerd.leftovers()).toEqual([]);
  });
});
