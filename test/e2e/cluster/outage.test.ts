/** An API server that is away, or that has the Node object of another machine: pods go on, and later it is told what has changed, once each. */
import { afterEach, expect, test } from '@jest/globals';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { containerStatus, NODE_NAME } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

describeOnCluster('an API server that is away', (cluster) => {
  afterEach(async () => {
    await cluster.controlPlane.apiServer.start();
    await cluster.clear();
  });

  /** As the agent itself shows the pod. */
  const seen = async (name: string) =>
    (await cluster.daemon.pods()).find(({ metadata }) => metadata.name === name);

  test('running pods go on and restart, and their statuses come when it is back', async () => {
    await cluster.create('steady', { containers: [cluster.server()] });
    await cluster.create('crashing', { containers: [cluster.shell('sleep 1; exit 1')] });
    const before = await cluster.podIsReady('steady');
    await cluster.podIs('started', 'crashing', ({ status }) => status?.phase === 'Running');
    await cluster.controlPlane.apiServer.stop();
    await waitFor(async () => (containerStatus((await seen('crashing'))!)?.restartCount ?? 0) >= 1, {
      what: 'a restart while the server is away',
    });
    await cluster.controlPlane.apiServer.start();
    const { status } = await cluster.podIs(
      'known to have restarted',
      'crashing',
      (pod) => (containerStatus(pod)?.restartCount ?? 0) >= 1,
    );
    expect(status?.phase).toBe('Running');
    expect(containerStatus((await cluster.pod('steady'))!)?.containerID).toBe(
      containerStatus(before)?.containerID,
    );
    await cluster.nodeIsReady();
  });

  test('a pod that ends meanwhile is reported once, and a pod that was deleted meanwhile ends', async () => {
    await cluster.create('ending', {
      restartPolicy: 'Never',
      containers: [cluster.shell('until [ -e /go ]; do sleep 0.1; done')],
    });
    const pod = await cluster.podIs('running', 'ending', ({ status }) => status?.phase === 'Running');
    await cluster.controlPlane.apiServer.stop();
    await cluster.bed.execLast(pod, ['touch', '/go']);
    await waitFor(async () => (await seen('ending'))?.status?.phase === 'Succeeded', {
      what: 'the pod to end',
    });
    await cluster.controlPlane.apiServer.start();
    await cluster.podIs('Succeeded', 'ending', ({ status }) => status?.phase === 'Succeeded');
  });

  test('an agent that starts meanwhile runs static pods, leaves the others alone, and joins when the server is back', async () => {
    await cluster.create('known', { containers: [cluster.server()] });
    const before = await cluster.podIsReady('known');
    await cluster.controlPlane.apiServer.stop();
    await cluster.daemon.end('SIGKILL');
    cluster.bed.apply('own', { containers: [cluster.server()] });
    await cluster.startDaemon('--pod-manifest-path', cluster.bed.manifestDir);
    await waitFor(async () => (await seen('own-node-a'))?.status?.phase === 'Running', {
      what: 'the static pod to run',
    });
    const id = containerStatus(before)?.containerID?.split('//')[1] ?? '';
    const { state } = await cluster.bed.runtime.containerStatus(id);
    expect(state).toBe('CONTAINER_RUNNING');
    await cluster.controlPlane.apiServer.start();
    await cluster.nodeIsReady();
    const after = await cluster.podIsReady('known');
    expect(containerStatus(after)?.containerID).toBe(containerStatus(before)?.containerID);
    const mirror = await cluster.podIsReady('own-node-a');
    expect(mirror.metadata.annotations?.['kubernetes.io/config.mirror']).toBeDefined();
    cluster.bed.withdraw('own');
    await cluster.podIsGone('own-node-a');
  });

  test('the Node object is of another machine: pods go on, and no others are taken', async () => {
    await cluster.daemon.end();
    await cluster.startDaemon('--pod-manifest-path', cluster.bed.manifestDir);
    await cluster.nodeIsReady();
    const { nodeInfo } = (await cluster.node()).status!;
    const write = async (info: object) => {
      await cluster.controlPlane.patch(`/api/v1/nodes/${NODE_NAME}/status`, { status: { nodeInfo: info } });
    };
    await cluster.create('steady', { containers: [cluster.server()] });
    const before = await cluster.podIsReady('steady');
    await write({ machineID: 'other', systemUUID: 'other', bootID: 'other' });
    await cluster.daemon.logged('whose the node is', ({ msg }) => msg.includes('is of another machine'));
    await cluster.create('later', { containers: [cluster.server()] });
    cluster.bed.apply('own', { containers: [cluster.server()] });
    await waitFor(async () => (await seen(`own-${NODE_NAME}`))?.status?.phase === 'Running', {
      what: 'the static pod to run',
    });
    expect(await seen('later')).toBeUndefined();
    await write(nodeInfo!);
    await cluster.podIsReady('later');
    expect(containerStatus((await cluster.pod('steady'))!)).toEqual(containerStatus(before));
    cluster.bed.withdraw('own');
    await cluster.podIsGone(`own-${NODE_NAME}`);
  });
});
