/** The writer of statuses on a real API server, with the rights of a node. */
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { StatusWriter } from '../../../../src/agent/actors/cluster/status-writer.ts';
import { DesiredPods } from '../../../../src/agent/actors/pods/desired-pods.ts';
import { StatusManager } from '../../../../src/agent/actors/pods/status-manager.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ApiClients } from '../../../../src/agent/cluster/service/api-server.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { needsReconcile } from '../../../../src/agent/policies/cluster/status-write.ts';
import { generateAPIPodStatus } from '../../../../src/agent/policies/status/pod-status.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { factsOf, instance, SANDBOX } from '../../../support/pod-status-facts.ts';
import { type LogLine, recordingLogger } from '../../../support/recording-logger.ts';
import type { PartialPodStatus } from '../../../support/runtime-pod-status.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { testContext } from '../../../support/test-context.ts';

/** With what a status repeats of it: resources in several spellings, mounts, gates, containers of all kinds. */
const SPEC: Partial<PodSpec> = {
  restartPolicy: 'OnFailure',
  terminationGracePeriodSeconds: 1,
  readinessGates: [{ conditionType: 'example.com/gate' }],
  volumes: [{ name: 'scratch', emptyDir: {} }],
  initContainers: [{ name: 'setup', image: 'setup:1' }],
  containers: [
    {
      name: 'main',
      image: 'main:1',
      resources: { requests: { cpu: '0.5', memory: '1048576' }, limits: { cpu: '1', memory: '2048Ki' } },
      volumeMounts: [{ name: 'scratch', mountPath: '/scratch', readOnly: true }],
    },
    { name: 'also', image: 'also:1', resources: {} },
  ],
};

const USER = { uid: 0, gid: 0, supplementalGroups: [] };
const WAITING: PartialPodStatus = { sandboxes: [] };
const RUNNING: PartialPodStatus = {
  sandboxes: [SANDBOX],
  containers: [
    instance('setup', 'exited', { exitCode: 0, finishedAt: 3 }),
    instance('main', 'running', { user: USER }),
    instance('also', 'running', { user: USER }),
  ],
};
const ENDED: PartialPodStatus = {
  sandboxes: [],
  containers: [
    instance('setup', 'exited', { exitCode: 0, finishedAt: 3 }),
    instance('main', 'exited', { exitCode: 0, finishedAt: 1_893_456_000.123, message: 'bye' }),
    instance('also', 'exited', { exitCode: 0, finishedAt: 4 }),
  ],
};

describeOnControlPlane('the status of a pod', (controlPlane) => {
  let clients: ApiClients & { close(): void };
  let desired: DesiredPods;
  let manager: StatusManager;
  let writer: StatusWriter;
  let lines: readonly LogLine[];
  let couldRun = true;

  beforeAll(async () => {
    const metadata = { name: controlPlane.nodeName };
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Node', metadata });
  });
  beforeEach(() => {
    const credentials = new FixedCredentials(controlPlane.details('node'));
    clients = openApiClients(credentials, new ObservedConnection(), { userAgent: 'statelet/test' });
    desired = new DesiredPods();
    const mirrorPods = { ownMirrorPodOf: (pod: Pod) => desired.mirrorPodOf(pod) };
    manager = new StatusManager(testContext({ clock: systemClock }), mirrorPods);
    const log = recordingLogger();
    lines = log.lines;
    couldRun = true;
    writer = new StatusWriter(testContext({ clock: systemClock, logger: log.logger }), {
      api: clients.main,
      statusManager: manager,
      pods: desired,
      couldHaveRunningContainers: () => couldRun,
    });
    writer.start();
  });
  afterEach(async () => {
    await writer.stop();
    clients.close();
  });

  const podNow = (name: string) => controlPlane.kubectlJson<Pod>('get', 'pod', name);

  async function bound(name: string): Promise<Pod> {
    const metadata = { name, namespace: 'default' };
    await controlPlane.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { ...SPEC, nodeName: controlPlane.nodeName },
    });
    return seen(name);
  }

  /** The source has seen the pod as it is at the server. */
  async function seen(name: string): Promise<Pod> {
    const pod = await podNow(name);
    desired.set(pod);
    return pod;
  }

  function report(pod: Pod, runtime: PartialPodStatus): void {
    const previous = manager.get(pod.metadata.uid);
    const now = rfc3339(Date.now());
    manager.set(pod, generateAPIPodStatus(factsOf(pod, runtime, { now, ...(previous && { previous }) })));
  }

  const written = async () => {
    await Promise.resolve();
    await waitFor(() => writer.lagging === 0, { what: 'the statuses to be written' });
  };

  test('is read back as it was written, so that no correction is needed', async () => {
    let pod = await bound('story');
    for (const [runtime, phase] of [
      [WAITING, 'Pending'],
      [RUNNING, 'Running'],
      [ENDED, 'Succeeded'],
    ] as const) {
      couldRun = phase !== 'Succeeded';
      report(pod, runtime);
      await written();
      pod = await seen('story');
      expect(pod.status?.phase).toBe(phase);
      expect(manager.get(pod.metadata.uid)?.phase).toBe(phase);
      const entry = manager.entry(pod.metadata.uid);
      expect(entry && needsReconcile(pod.metadata.uid, entry, desired)).toBe(false);
    }
    expect(pod.status).toMatchObject({
      observedGeneration: 1,
      podIPs: [{ ip: SANDBOX.ip }],
      hostIP: '192.168.0.2',
      qosClass: 'Burstable',
    });
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  });

  test('keeps the condition of a readiness gate, which makes the pod Ready', async () => {
    const pod = await bound('gated');
    const conditionOf = async (type: string) =>
      (await podNow('gated')).status?.conditions?.find((condition) => condition.type === type);
    report(pod, RUNNING);
    await written();
    expect(await conditionOf('Ready')).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' });
    const conditions = [{ type: 'example.com/gate', status: 'True' }];
    await controlPlane.patch('/api/v1/namespaces/default/pods/gated/status', { status: { conditions } });
    report(await seen('gated'), RUNNING);
    await written();
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True' });
    expect(await conditionOf('example.com/gate')).toMatchObject({ status: 'True' });
  });

  test('does not say that the pod has ended while something can run; then the server may forget the pod', async () => {
    await bound('leaving');
    await controlPlane.kubectl('delete', 'pod', 'leaving', '--wait=false');
    const pod = await seen('leaving');
    report(pod, ENDED);
    await written();
    expect((await podNow('leaving')).status?.phase).toBe('Pending');
    couldRun = false;
    manager.terminate(pod);
    await written();
    await expect(podNow('leaving')).rejects.toThrow('NotFound');
    expect(manager.get(pod.metadata.uid)).toBeUndefined();
  });

  test('is not written to another pod that has taken the name', async () => {
    const pod = await bound('twice');
    await controlPlane.kubectl('delete', 'pod', 'twice', '--grace-period=0', '--force');
    await bound('twice');
    report(pod, RUNNING);
    await written();
    expect((await podNow('twice')).status?.phase).toBe('Pending');
  });

  test('is written to the mirror pod of a static pod', async () => {
    const node = await controlPlane.kubectlJson<Pod>('get', 'node', controlPlane.nodeName);
    const fixed: Pod = {
      metadata: {
        name: 'fixed',
        namespace: 'default',
        uid: 'of-the-file',
        annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'of-the-file' },
      },
      spec: { ...SPEC, readinessGates: [], nodeName: controlPlane.nodeName } as PodSpec,
    };
    const owner = {
      apiVersion: 'v1',
      kind: 'Node',
      name: controlPlane.nodeName,
      uid: node.metadata.uid,
      controller: true,
    };
    const annotations = { ...fixed.metadata.annotations, 'kubernetes.io/config.mirror': 'of-the-file' };
    await clients.main.create(
      { resource: 'pods', namespace: 'default' },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'fixed', namespace: 'default', annotations, ownerReferences: [owner] },
        spec: fixed.spec,
      },
    );
    desired.set(fixed);
    await seen('fixed');
    report(fixed, RUNNING);
    await written();
    const mirror = await seen('fixed');
    expect(mirror.status?.phase).toBe('Running');
    const entry = manager.entry('of-the-file');
    expect(entry && needsReconcile('of-the-file', entry, desired)).toBe(false);
  });
});
