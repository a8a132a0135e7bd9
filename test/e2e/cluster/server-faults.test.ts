/** An API server that answers with errors, or with half an answer, and a Node object that another machine has written. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ApiFault, ApiFaultProxy } from '../../support/api/fault-proxy.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { containerStatus, NODE_NAME, stateOf } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

describeOnCluster('an API server with faults', { controlPlane: { needsKubectl: 28 } }, (cluster) => {
  let proxy: ApiFaultProxy;

  beforeEach(async () => {
    proxy = await new ApiFaultProxy(cluster.controlPlane).open();
    await cluster.daemon.end();
    const { manifestDir } = cluster.bed;
    await cluster.startDaemon('--kubeconfig', proxy.kubeconfig(), '--pod-manifest-path', manifestDir);
    await cluster.nodeIsReady();
  });

  afterEach(async () => {
    await cluster.clear();
    await proxy.close();
  });

  /** As the agent itself shows the pod. */
  const seen = async (name: string) =>
    (await cluster.daemon.pods()).find(({ metadata }) => metadata.name === name);

  test.each<[string, () => ApiFault]>([
    ['429', () => proxy.refuse({}, 429)],
    ['503 and the wish to be left alone', () => proxy.refuse({}, 503, { 'retry-after': '1' })],
    ['half an answer', () => proxy.halveAnswers({})],
  ])('%s: pods go on, and what has changed is told once', async (_, begin) => {
    const script = 'trap "exit 0" TERM; while [ ! -e /go ]; do sleep 0.1; done';
    await cluster.create('steady', { containers: [cluster.server()] });
    await cluster.create('ending', { restartPolicy: 'Never', containers: [cluster.shell(script)] });
    const before = await cluster.podIsReady('steady');
    const ending = await cluster.podIsReady('ending');
    const fault = begin();
    await cluster.bed.exec(ending, ['touch', '/go']);
    // Until it is over, its status may still change: its sandbox ends after its containers.
    const isOver = async () => stateOf((await seen('ending'))!) === 'Terminated.Finished';
    await waitFor(isOver, { what: 'its end' });
    await fault.wasHit();
    const status = { method: 'PATCH', path: /pods\/ending\/status/u };
    const soFar = proxy.seen(status).length;
    fault.lift();
    await cluster.podIs('Succeeded', 'ending', (pod) => pod.status?.phase === 'Succeeded');
    expect(proxy.seen(status).length - soFar).toBeLessThanOrEqual(1);
    const after = (await cluster.pod('steady'))!;
    expect(containerStatus(after)).toEqual(containerStatus(before));
  });

  test('the Node object is of another machine: pods go on, and no others are taken', async () => {
    const { nodeInfo } = (await cluster.node()).status!;
    const write = async (info: object) => {
      const patch = `--patch=${JSON.stringify({ status: { nodeInfo: info } })}`;
      await cluster.controlPlane.kubectl('patch', 'node', NODE_NAME, '--subresource=status', patch);
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
