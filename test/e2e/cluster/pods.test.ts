/** Pods of a real API server, as kubectl shows them. */
import { afterEach, expect, test } from '@jest/globals';
import { conditionOf, describeOnCluster } from '../../support/cluster-suite.ts';
import { KUBECTL_PATIENCE, waitFor } from '../../support/wait-for.ts';

describeOnCluster('a pod of the API server', (cluster) => {
  afterEach(() => cluster.clear());

  test('becomes ready, shows its addresses, and is gone from the API server once nothing of it runs; then from the runtime', async () => {
    await cluster.create('web', { containers: [cluster.server()] });
    const { status } = await cluster.podIsReady('web');
    const { nodeIp } = cluster.controlPlane;
    expect(status).toMatchObject({
      phase: 'Running',
      hostIP: nodeIp,
      hostIPs: [{ ip: nodeIp }],
      observedGeneration: 1,
    });
    expect(status?.podIPs).toEqual([{ ip: status?.podIP }]);
    expect(status?.containerStatuses?.[0]).toMatchObject({ ready: true, started: true, restartCount: 0 });
    expect(await cluster.eventsOf('web')).toEqual(expect.arrayContaining(['Created', 'Started']));
    await cluster.controlPlane.kubectl('delete', 'pod', 'web', KUBECTL_PATIENCE);
    const { runtime, containerd } = cluster.bed;
    const states = [...(await runtime.listContainers()), ...(await runtime.listPodSandbox())].map(
      ({ state }) => state,
    );
    expect(states.filter((state) => state === 'CONTAINER_RUNNING' || state === 'SANDBOX_READY')).toEqual([]);
    await waitFor(async () => (await containerd.leftovers()).length === 0, { what: 'nothing to be left' });
  });

  test('a pod with a grace period is shown as terminating until its containers have ended', async () => {
    const end = 'until [ -e /go ]; do sleep 0.1; done; exit 0';
    const script = `trap "${end}" TERM; while :; do sleep 1000 & wait $!; done`;
    await cluster.create('slow', { containers: [cluster.shell(script)], terminationGracePeriodSeconds: 100 });
    await cluster.podIsReady('slow');
    await cluster.controlPlane.kubectl('delete', 'pod', 'slow', '--wait=false');
    const ending = await cluster.podIs(
      'terminating',
      'slow',
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    expect(ending.status?.phase).toBe('Running');
    await cluster.bed.execLast(ending, ['touch', '/go']);
    await cluster.podIsGone('slow');
  });

  test('a pod that is deleted by force is killed', async () => {
    await cluster.create('forced', { containers: [cluster.server()] });
    await cluster.podIsReady('forced');
    await cluster.controlPlane.kubectl('delete', 'pod', 'forced', '--force', '--grace-period=0');
    await waitFor(async () => (await cluster.bed.containerd.leftovers()).length === 0, {
      what: 'nothing to be left',
    });
  });

  test('a pod that has run to its end is Succeeded, and one that fails is Failed with its exit code', async () => {
    await cluster.create('good', { restartPolicy: 'Never', containers: [cluster.shell('exit 0')] });
    await cluster.create('bad', { restartPolicy: 'Never', containers: [cluster.shell('exit 3')] });
    const good = await cluster.podIs('Succeeded', 'good', ({ status }) => status?.phase === 'Succeeded');
    const bad = await cluster.podIs('Failed', 'bad', ({ status }) => status?.phase === 'Failed');
    expect(conditionOf(good.status, 'Ready')).toBe('False');
    expect(good.status?.conditions?.find(({ type }) => type === 'Ready')?.reason).toBe('PodCompleted');
    expect(bad.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
  });

  test('a readiness gate keeps a running pod from being ready until its condition is True', async () => {
    const readinessGates = [{ conditionType: 'example.com/ready' }];
    await cluster.create('gated', { readinessGates, containers: [cluster.server()] });
    const isRunning = await cluster.podIs(
      'running',
      'gated',
      ({ status }) => conditionOf(status, 'ContainersReady') === 'True',
    );
    expect(conditionOf(isRunning.status, 'Ready')).toBe('False');
    const patch = { status: { conditions: [{ type: 'example.com/ready', status: 'True' }] } };
    await cluster.controlPlane.patch('/api/v1/namespaces/default/pods/gated/status', patch);
    const { status } = await cluster.podIsReady('gated');
    expect(conditionOf(status, 'example.com/ready')).toBe('True');
  });

  test('a deadline that is set on a running pod ends it', async () => {
    await cluster.create('limited', { containers: [cluster.server()] });
    await cluster.podIsReady('limited');
    await cluster.controlPlane.kubectl(
      'patch',
      'pod',
      'limited',
      '-p',
      '{"spec":{"activeDeadlineSeconds":1}}',
    );
    const { status } = await cluster.podIs('Failed', 'limited', (pod) => pod.status?.phase === 'Failed');
    expect(status?.reason).toBe('DeadlineExceeded');
    expect(await cluster.eventsOf('limited')).toContain('DeadlineExceeded');
  });

  test('an ephemeral container starts beside the running ones, and is not started again', async () => {
    await cluster.create('debugged', { containers: [cluster.server()] });
    const before = await cluster.podIsReady('debugged');
    const { image } = cluster.bed.containerd;
    const looker = {
      name: 'looker',
      image,
      imagePullPolicy: 'IfNotPresent',
      command: ['sh', '-c', 'exit 4'],
    };
    await cluster.controlPlane.patch('/api/v1/namespaces/default/pods/debugged/ephemeralcontainers', {
      spec: { ephemeralContainers: [looker] },
    });
    const { status } = await cluster.podIs(
      'debugged',
      'debugged',
      (pod) => pod.status?.ephemeralContainerStatuses?.[0]?.state?.terminated !== undefined,
    );
    expect(status?.ephemeralContainerStatuses?.[0]).toMatchObject({
      name: 'looker',
      restartCount: 0,
      state: { terminated: { exitCode: 4 } },
    });
    expect(status?.containerStatuses?.[0]?.containerID).toBe(
      before.status?.containerStatuses?.[0]?.containerID,
    );
  });

  test('a pod keeps running and is known again after the agent has been killed', async () => {
    await cluster.create('kept', { containers: [cluster.server()] });
    const before = await cluster.podIsReady('kept');
    await cluster.daemon.end('SIGKILL');
    await cluster.startDaemon();
    await cluster.nodeIsReady();
    const after = await cluster.podIsReady('kept');
    expect(after.status?.containerStatuses).toEqual(before.status?.containerStatuses);
    expect(after.status?.startTime).toBe(before.status?.startTime);
  });

  test('a pod that names a RuntimeClass runs with its handler once the class exists', async () => {
    const runtimeClass = {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'plain' },
      handler: 'runc',
    };
    await cluster.controlPlane.apply(runtimeClass);
    await cluster.create('classed', { runtimeClassName: 'plain', containers: [cluster.server()] });
    await cluster.podIsReady('classed');
    await cluster.controlPlane.kubectl('delete', 'runtimeclass', 'plain');
  });

  test('a pod whose Secret cannot be read waits with an event, and can be deleted', async () => {
    const volumes = [{ name: 'keys', secret: { secretName: 'missing' } }];
    const volumeMounts = [{ name: 'keys', mountPath: '/keys' }];
    const finalizers = ['example.com/hold'];
    await cluster.create(
      'waiting',
      { volumes, containers: [cluster.server({ volumeMounts })] },
      { finalizers },
    );
    const told = async () => (await cluster.eventsOf('waiting')).includes('FailedMount');
    await waitFor(told, { what: 'the event FailedMount' });
    const waiting = { state: { waiting: { reason: 'ContainerCreating' } } };
    expect((await cluster.pod('waiting'))?.status?.containerStatuses).toMatchObject([waiting]);
    await cluster.controlPlane.kubectl('delete', 'pod', 'waiting', '--wait=false');
    const { status } = await cluster.podIs('Failed', 'waiting', (pod) => pod.status?.phase === 'Failed');
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready).toMatchObject({ status: 'False', reason: 'ContainersNotReady' });
    await cluster.controlPlane.kubectl('patch', 'pod', 'waiting', '-p', '{"metadata":{"finalizers":null}}');
    await cluster.podIsGone('waiting');
  });
});
