/** Changes of CPU and memory of pods that run, from `pods/resize` of an API server to the files of the kernel. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { equalJson } from '../../../src/agent/policies/formats/canonical-json.ts';
import type { Container, Pod, PodCondition, ResourceRequirements } from '../../../src/types/kubernetes.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { CriProxy } from '../../support/cri-proxy.ts';
import { containerStatus } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

const MIB = 1024 ** 2;
const PODS = '/api/v1/namespaces/default/pods';

/** Nothing here may need the next regular sync of a pod. */
describeOnCluster('a resize', { config: { syncFrequency: '1h' } }, (cluster) => {
  const create = (name: string, resources: ResourceRequirements, more: Partial<Container> = {}) =>
    cluster.create(name, { containers: [cluster.server({ resources, ...more })] });

  const resize = (name: string, resources: ResourceRequirements) =>
    cluster.controlPlane.patch(`${PODS}/${name}/resize`, {
      spec: { containers: [{ name: 'main', resources }] },
    });

  /** A file of the container's cgroup, or of the pod's. */
  const read = (pod: Pod, controller: string, file: string, ofPod = false, container = 'main') => {
    const { cgroupRoot } = cluster.bed.containerd;
    const group = join(cgroupRoot, 'kubepods', 'burstable', `pod${pod.metadata.uid}`);
    const path = ofPod ? group : join(group, cluster.bed.idOf(pod, container));
    return readFileSync(join('/sys/fs/cgroup', controller, path, file), 'utf8').trim();
  };

  /** CPU shares and quota, and the limit of memory in MiB. */
  const limits = (pod: Pod, ofPod = false, container?: string) => [
    read(pod, 'cpu', 'cpu.shares', ofPod, container),
    read(pod, 'cpu', 'cpu.cfs_quota_us', ofPod, container),
    String(Number(read(pod, 'memory', 'memory.limit_in_bytes', ofPod, container)) / MIB),
  ];

  const conditionsOf = ({ status }: Pod): readonly PodCondition[] =>
    (status?.conditions ?? []).filter(({ type }) => type.startsWith('PodResize'));

  const hasResources = (name: string, resources: ResourceRequirements) =>
    cluster.podIs(`resized to ${JSON.stringify(resources)}`, name, (pod) => {
      const shown = containerStatus(pod)?.resources;
      return equalJson(shown, resources) && conditionsOf(pod).length === 0;
    });

  const pending = (name: string, reason: string) =>
    cluster.podIs(reason, name, (pod) => conditionsOf(pod).some((condition) => condition.reason === reason));

  afterEach(() => cluster.clear());

  test('is in the cgroups of pod and container, without a restart, and back again', async () => {
    await create('grows', {
      requests: { cpu: '100m', memory: '32Mi' },
      limits: { cpu: '200m', memory: '64Mi' },
    });
    const before = await cluster.podIsReady('grows');
    const id = cluster.bed.idOf(before);
    const larger = { limits: { cpu: '500m', memory: '128Mi' }, requests: { cpu: '300m', memory: '64Mi' } };
    await resize('grows', larger);
    const after = await hasResources('grows', larger);
    expect(cluster.bed.idOf(after)).toBe(id);
    expect(containerStatus(after)).toMatchObject({ restartCount: 0, allocatedResources: larger.requests });
    for (const ofPod of [false, true]) {
      expect(read(after, 'cpu', 'cpu.shares', ofPod)).toBe('307');
      expect(read(after, 'cpu', 'cpu.cfs_quota_us', ofPod)).toBe('50000');
      expect(read(after, 'memory', 'memory.limit_in_bytes', ofPod)).toBe(String(128 * MIB));
    }
    const smaller = { limits: { cpu: '100m', memory: '48Mi' }, requests: { cpu: '50m', memory: '16Mi' } };
    await resize('grows', smaller);
    const last = await hasResources('grows', smaller);
    expect(cluster.bed.idOf(last)).toBe(id);
    for (const ofPod of [false, true]) {
      expect(read(last, 'cpu', 'cpu.shares', ofPod)).toBe('51');
      expect(read(last, 'cpu', 'cpu.cfs_quota_us', ofPod)).toBe('10000');
      expect(read(last, 'memory', 'memory.limit_in_bytes', ofPod)).toBe(String(48 * MIB));
    }
    const events = await cluster.eventsOf('grows');
    expect(events.filter((reason) => reason.startsWith('Resize'))).toEqual([
      'ResizeStarted',
      'ResizeCompleted',
      'ResizeStarted',
      'ResizeCompleted',
    ]);
  });

  test('restarts a container whose resizePolicy asks for it', async () => {
    await create(
      'restarts',
      { requests: { memory: '32Mi' } },
      { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] },
    );
    const before = await cluster.podIsReady('restarts');
    await resize('restarts', { requests: { memory: '48Mi' } });
    const after = await hasResources('restarts', { requests: { memory: '48Mi' } });
    expect(cluster.bed.idOf(after)).not.toBe(cluster.bed.idOf(before));
    expect(containerStatus(after)).toMatchObject({ restartCount: 1 });
  });

  test('waits for room as Deferred, and goes on when another pod has ended', async () => {
    const { status } = await cluster.node();
    const cpus = Number(status?.allocatable?.cpu ?? 0);
    await create('filler', { requests: { cpu: `${cpus * 1000 - 300}m` } });
    await create('waits', { requests: { cpu: '100m' } });
    await cluster.podIsReady('filler');
    await cluster.podIsReady('waits');
    await resize('waits', { requests: { cpu: '1' } });
    const waiting = await pending('waits', 'Deferred');
    expect(conditionsOf(waiting)).toMatchObject([
      {
        type: 'PodResizePending',
        status: 'True',
        message: expect.stringContaining("Node didn't have enough resource: cpu, requested: 1000"),
      },
    ]);
    expect(containerStatus(waiting)?.allocatedResources).toEqual({ cpu: '100m' });
    expect(read(waiting, 'cpu', 'cpu.shares')).toBe('102');
    await cluster.controlPlane.kubectl('delete', 'pod', 'filler', '--wait=false');
    const after = await hasResources('waits', { requests: { cpu: '1' } });
    expect(read(after, 'cpu', 'cpu.shares')).toBe('1024');
  });

  test('below what is used is an Error with its figures, and ends with a limit above', async () => {
    // The file is in memory, and counts for the container.
    const script =
      'dd if=/dev/zero of=/dev/shm/held bs=1M count=40 2>/dev/null; touch /tmp/held; sleep 3600 & wait';
    await cluster.create('uses', {
      containers: [
        cluster.shell(script, {
          resources: { limits: { memory: '96Mi' } },
          readinessProbe: { exec: { command: ['test', '-e', '/tmp/held'] }, periodSeconds: 1 },
        }),
      ],
    });
    const before = await cluster.podIsReady('uses');
    await resize('uses', { limits: { memory: '20Mi' }, requests: { memory: '20Mi' } });
    const failed = await pending('uses', 'Error');
    expect(conditionsOf(failed)).toMatchObject([
      {
        type: 'PodResizeInProgress',
        message: expect.stringMatching(
          /^cannot decrease memory limits: \[?.*attempting to set container "main" memory limit \(20971520\) below current usage \(\d+\)/,
        ),
      },
    ]);
    const larger = { limits: { memory: '80Mi' }, requests: { memory: '80Mi' } };
    await resize('uses', larger);
    const after = await hasResources('uses', larger);
    expect(cluster.bed.idOf(after)).toBe(cluster.bed.idOf(before));
  });

  test('goes on under the next agent, whenever the former one has died', async () => {
    await create('outlives', { requests: { cpu: '100m' } });
    const before = await cluster.podIsReady('outlives');
    await resize('outlives', { requests: { cpu: '200m' } });
    await hasResources('outlives', { requests: { cpu: '200m' } });
    await cluster.daemon.end('SIGKILL');
    await resize('outlives', { requests: { cpu: '300m' } });
    await cluster.startDaemon();
    const after = await hasResources('outlives', { requests: { cpu: '300m' } });
    expect(cluster.bed.idOf(after)).toBe(cluster.bed.idOf(before));
    expect(read(after, 'cpu', 'cpu.shares')).toBe('307');
    await waitFor(
      async () => (await cluster.eventsOf('outlives')).filter((it) => it === 'ResizeCompleted').length === 2,
      {
        what: 'two resizes to be completed',
      },
    );
  });

  test('of a sidecar, and of containers in opposite directions: each has its own, and nothing restarts', async () => {
    const of = (cpu: string, memory: string): ResourceRequirements => ({
      requests: { cpu: '50m', memory: '16Mi' },
      limits: { cpu, memory },
    });
    await cluster.create('several', {
      initContainers: [
        cluster.server({ name: 'side', restartPolicy: 'Always', resources: of('100m', '32Mi') }),
      ],
      containers: [
        cluster.server({ resources: of('100m', '32Mi') }),
        cluster.server({ name: 'other', resources: of('300m', '96Mi') }),
      ],
    });
    const before = await cluster.podIsReady('several');
    expect(limits(before, true)).toEqual(['153', '50000', '160']);
    await cluster.controlPlane.patch(`${PODS}/several/resize`, {
      spec: {
        initContainers: [{ name: 'side', resources: of('200m', '48Mi') }],
        containers: [
          { name: 'main', resources: of('300m', '96Mi') },
          { name: 'other', resources: of('100m', '32Mi') },
        ],
      },
    });
    const after = await hasResources('several', of('300m', '96Mi'));
    expect(limits(after)).toEqual(['51', '30000', '96']);
    expect(limits(after, false, 'other')).toEqual(['51', '10000', '32']);
    expect(limits(after, false, 'side')).toEqual(['51', '20000', '48']);
    expect(limits(after, true)).toEqual(['153', '60000', '176']);
    for (const name of ['main', 'other', 'side'])
      expect(cluster.bed.idOf(after, name)).toBe(cluster.bed.idOf(before, name));
  });

  test('of the pod as a whole is in its cgroup, and in that of a container without limits of its own', async () => {
    const of = (cpu: string, memory: string): ResourceRequirements => ({
      requests: { cpu: '100m', memory: '16Mi' },
      limits: { cpu, memory },
    });
    await cluster.create('whole', { resources: of('200m', '64Mi'), containers: [cluster.server()] });
    const before = await cluster.podIsReady('whole');
    expect(limits(before, true)).toEqual(['102', '20000', '64']);
    await cluster.controlPlane.patch(`${PODS}/whole/resize`, { spec: { resources: of('300m', '96Mi') } });
    await waitFor(() => equalJson(limits(before, true), ['102', '30000', '96']), {
      what: 'the cgroup of the pod to have its new limits',
    });
    const after = await cluster.podIs('resized', 'whole', (pod) => conditionsOf(pod).length === 0);
    expect(limits(after).slice(1)).toEqual(['30000', '96']);
    expect(cluster.bed.idOf(after)).toBe(cluster.bed.idOf(before));
  });

  describe('taken back while no agent runs', () => {
    const SMALL = { requests: { cpu: '50m' }, limits: { cpu: '100m', memory: '32Mi' } };
    const LARGE = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } };
    let proxy: CriProxy;
    const start = () => cluster.startDaemon('--container-runtime-endpoint', proxy.endpoint);

    beforeAll(async () => {
      await cluster.daemon.end();
      proxy = await new CriProxy(cluster.bed.containerd.endpoint).start();
      await start();
    });
    afterAll(async () => {
      await cluster.daemon.end();
      proxy.stop();
      await cluster.startDaemon();
    });

    const DEATHS = [SMALL, LARGE].flatMap((before) =>
      (['cpu', 'memory', 'both'] as const).flatMap((resource) =>
        [true, false].map((isDone) => ({ before, resource, isDone })),
      ),
    );

    test('it leaves nothing behind, whichever call the former agent died at', async () => {
      const pods = DEATHS.map((death, index) => ({ ...death, name: `death-${index}-node-a` }));
      const grown = ({ before, resource }: (typeof DEATHS)[number]) => {
        const other = before === SMALL ? LARGE : SMALL;
        if (resource === 'both') return other;
        if (resource === 'cpu') return { ...other, limits: { ...before.limits, cpu: other.limits.cpu } };
        return { ...before, limits: { ...before.limits, memory: other.limits.memory } };
      };
      const complete = (resources: ResourceRequirements): ResourceRequirements => ({
        ...resources,
        requests: { memory: '16Mi', ...resources.requests },
      });
      await Promise.all(pods.map(({ name, before }) => create(name, complete(before))));
      const ready = await Promise.all(pods.map(({ name }) => cluster.podIsReady(name)));
      const had = ready.map((pod) => [limits(pod), limits(pod, true)]);
      const faults = pods.map(({ name, isDone }) =>
        isDone
          ? proxy.loseAnswers('UpdateContainerResources', name)
          : proxy.hold('UpdateContainerResources', name),
      );
      await Promise.all(pods.map((pod) => resize(pod.name, complete(grown(pod)))));
      await Promise.all(faults.map((fault) => fault.wasHit()));
      await waitFor(
        () => pods.every(({ isDone }, index) => !isDone || !equalJson(limits(ready[index]!), had[index]![0])),
        { what: 'the calls to be carried out' },
      );
      await cluster.daemon.end('SIGKILL');
      for (const fault of faults) fault.lift();
      await Promise.all(pods.map(({ name, before }) => resize(name, complete(before))));
      await start();
      await waitFor(
        () => ready.every((pod, index) => equalJson([limits(pod), limits(pod, true)], had[index])),
        { what: 'all limits to be as before' },
      ).catch((error: unknown) => {
        const found = ready.map((pod, index) => [pods[index], had[index], limits(pod), limits(pod, true)]);
        throw new Error(`${String(error)}: ${JSON.stringify(found)}`, { cause: error });
      });
      for (const [index, { name, before }] of pods.entries()) {
        const after = await hasResources(name, complete(before));
        expect(cluster.bed.idOf(after)).toBe(cluster.bed.idOf(ready[index]!));
      }
    });
  });
});
