import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PodContext } from '../../../src/agent/machines/pod-machine.ts';
import { RejectedError } from '../../../src/agent/policies/admission/rejection.ts';
import { sandboxLabels } from '../../../src/agent/policies/cri/cri-labels.ts';
import { PrepareError } from '../../../src/agent/runtime/node/pod-node.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { nodeOf } from '../../support/admission.ts';
import { apiPod, startAgent, staticPod, type TestAgent } from '../../support/agent.ts';
import { STUBBORN } from '../../support/stubborn.ts';
import { waitFor } from '../../support/wait-for.ts';

let agent: TestAgent;

describe('on the embedded runtime', () => {
  beforeEach(async () => {
    agent = await startAgent();
  });
  afterEach(async () => agent.cleanUp());

  const runningNames = async () => {
    const containers = await agent.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    return containers.map(({ labels }) => labels['io.kubernetes.pod.name']);
  };

  test('ADD runs a pod, REMOVE ends it and forgets its UID', async () => {
    agent.ready();
    const web = staticPod('web', 'uid-web');
    agent.add(web);
    await agent.until('uid-web', 'Syncing.Settled');
    expect(await runningNames()).toEqual(['web']);
    agent.remove(web);
    await agent.until('uid-web', '');
    expect(await runningNames()).toEqual([]);
    expect(await agent.runtime.listPodSandbox()).toEqual([]);
  });

  test('pods wait to start until the runtime is ready', async () => {
    agent.add(staticPod('web', 'uid-web'));
    expect(agent.state('uid-web')).toBe('Syncing.Starting.AwaitingRuntime');
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    await agent.until('uid-web', 'Syncing.Settled');
  });

  test('no pod is removed before all sources have been seen; then housekeeping ends unwanted pods', async () => {
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    const web = staticPod('web', 'uid-web');
    agent.add(web);
    await agent.until('uid-web', 'Syncing.Settled');
    agent.remove(web);
    agent.supervisor.send({ type: 'HOUSEKEEPING' });
    expect(agent.state('uid-web')).toBe('Syncing.Settled');
    agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
    await agent.until('uid-web', '');
  });

  test('a pod gets the names of claims made for it, though only its status has changed', async () => {
    agent.ready();
    const web = apiPod('web', 'uid-web');
    agent.add(web);
    await agent.until('uid-web', 'Syncing.Settled');
    const told = () => agent.supervisor.registry.get('uid-web')?.actor.getSnapshot().context.pod?.status;
    const reconcile = (status: Pod['status']) =>
      agent.supervisor.send({ type: 'CONFIG.RECONCILE', source: 'api', pods: [{ ...web, status }] });
    reconcile({ phase: 'Running' });
    expect(told()).toBeUndefined();
    const resourceClaimStatuses = [{ name: 'gpu', resourceClaimName: 'web-gpu' }];
    reconcile({ phase: 'Running', resourceClaimStatuses });
    expect(told()).toMatchObject({ resourceClaimStatuses });
  });

  test('10: the second static pod of a full name waits for the first to end', async () => {
    agent.ready();
    const first = staticPod('web', 'uid-1');
    const second = staticPod('web', 'uid-2');
    agent.add(first);
    await agent.until('uid-1', 'Syncing.Settled');
    agent.add(second);
    expect(agent.state('uid-2')).toBe('Syncing.Starting.AwaitingName');
    agent.remove(first);
    await agent.until('uid-2', 'Syncing.Settled');
    expect(agent.events.filter((event) => event === 'web Started' || event === 'web Killing')).toEqual([
      'web Started',
      'web Killing',
      'web Started',
    ]);
  });

  test('10: the second static pod also waits for the runtime if the runtime is not ready any more', async () => {
    agent.ready();
    agent.add(staticPod('web', 'uid-1'), staticPod('web', 'uid-2'));
    await agent.until('uid-1', 'Syncing.Settled');
    agent.supervisor.send({ type: 'RUNTIME_NOT_READY', problem: 'it blinked' });
    await agent.supervisor.killPod('uid-1');
    await agent.until('uid-1', 'Terminated.Finished');
    expect(agent.state('uid-2')).toBe('Syncing.Starting.AwaitingRuntime');
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    await agent.until('uid-2', 'Syncing.Settled');
  });

  test('10: a waiting static pod that is removed meanwhile is skipped', async () => {
    agent.ready();
    const [first, second, third] = ['uid-1', 'uid-2', 'uid-3'].map((uid) => staticPod('web', uid)) as [
      Pod,
      Pod,
      Pod,
    ];
    agent.add(first, second, third);
    await agent.until('uid-1', 'Syncing.Settled');
    agent.remove(second);
    await agent.until('uid-2', '');
    agent.remove(first);
    await agent.until('uid-3', 'Syncing.Settled');
  });

  test('9: if a pod is added again while it is ending, it starts again after its end', async () => {
    agent.ready();
    const job = staticPod('job', 'uid-job', {
      restartPolicy: 'Never',
      containers: [{ name: 'main', command: ['sh', '-c', 'exit 0'] }],
    });
    agent.add(job);
    await agent.until('uid-job', 'Terminated.Finished');
    agent.remove(job);
    agent.add(job);
    await waitFor(() => agent.events.filter((event) => event === 'job Started').length === 2, {
      what: 'the job to run a second time',
    });
    await agent.until('uid-job', 'Terminated.Finished');
    expect(agent.statusManager.get('uid-job')?.phase).toBe('Succeeded');
  });

  test('5, 6: killPod is answered when the pod is Terminated, and the last status counts', async () => {
    agent.ready();
    agent.add(staticPod('web', 'uid-web'));
    await agent.until('uid-web', 'Syncing.Settled');
    const evicted = {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: memory. ',
    } as const;
    await Promise.all([
      agent.supervisor.killPod('uid-web', { podStatus: { phase: 'Failed', reason: 'Preempting' } }),
      agent.supervisor.killPod('uid-web', { evict: true, podStatus: evicted }),
    ]);
    expect(await runningNames()).toEqual([]);
    await agent.until('uid-web', 'Terminated.Finished');
    expect(agent.statusManager.get('uid-web')).toMatchObject(evicted);
    expect(agent.supervisor.registry.shouldPodContentBeRemoved('uid-web')).toBe(true);
    await agent.supervisor.killPod('uid-web');
    await agent.supervisor.killPod('uid-nobody');
  });

  test('4: a kill with a shorter grace period soon ends a pod that ignores SIGTERM', async () => {
    agent.ready();
    agent.add(
      staticPod('stubborn', 'uid-stubborn', {
        terminationGracePeriodSeconds: 600,
        containers: [{ name: 'main', ...STUBBORN }],
      }),
    );
    await agent.until('uid-stubborn', 'Syncing.Settled');
    const patient = agent.supervisor.killPod('uid-stubborn');
    await agent.until('uid-stubborn', 'Terminating.Stopping');
    await agent.supervisor.killPod('uid-stubborn', { podTerminationGracePeriodSecondsOverride: 1 });
    await patient;
    expect(agent.supervisor.registry.isPodKnownTerminated('uid-stubborn')).toBe(true);
  });

  test('a pod beyond maxPods is rejected with the reason of the kubelet, and the others go on', async () => {
    await agent.cleanUp();
    agent = await startAgent({ nodeFacts: nodeOf({ pods: '1' }) });
    agent.ready();
    agent.add(apiPod('web', 'uid-web'), apiPod('late', 'uid-late'));
    await agent.until('uid-late', 'Terminated.Finished');
    expect(agent.statusManager.get('uid-late')).toMatchObject({ phase: 'Failed', reason: 'OutOfpods' });
    expect(agent.events).toContain('late OutOfpods');
    await agent.until('uid-web', 'Syncing.Settled');
  });

  test('a pod actor that fails is replaced, its containers are not started twice, and other pods go on', async () => {
    agent.ready();
    agent.add(staticPod('web', 'uid-web'), staticPod('other', 'uid-other'));
    await agent.until('uid-web', 'Syncing.Settled');
    await agent.until('uid-other', 'Syncing.Settled');
    const poison = { ...staticPod('web', 'uid-web'), metadata: undefined } as unknown as Pod;
    agent.supervisor.registry.send('uid-web', { type: 'SyncPodUpdate', pod: poison });
    expect(agent.log.filter((line) => line.includes("The pod's actor failed"))).toHaveLength(1);
    expect(agent.state('uid-other')).toBe('Syncing.Settled');
    await agent.until('uid-web', 'Syncing.Settled');
    expect((await runningNames()).toSorted()).toEqual(['other', 'web']);
  });

  test('I1: if an actor fails while its pod is ending, the pod still ends, and its kills are answered', async () => {
    await agent.cleanUp();
    let poisoned = false;
    agent = await startAgent({
      wrapEffects: (effects) => ({
        ...effects,
        stopPod: (context: PodContext, signal) => {
          if (poisoned) return effects.stopPod(context, signal);
          poisoned = true;
          // The chart throws on this event.
          return Promise.resolve({ type: 'SyncPodUpdate' as const, pod: {} as Pod });
        },
      }),
    });
    agent.ready();
    agent.add(staticPod('web', 'uid-web'));
    await agent.until('uid-web', 'Syncing.Settled');
    await agent.supervisor.killPod('uid-web');
    expect(await runningNames()).toEqual([]);
    expect(agent.events.filter((event) => event === 'web Started')).toHaveLength(1);
  });

  test('I3: a sandbox that comes after the pod is Terminated is stopped before the clean-up ends', async () => {
    await agent.cleanUp();
    let hasFailed = false;
    agent = await startAgent({
      wrapEffects: (effects) => ({
        ...effects,
        cleanUpPod: (context: PodContext, signal) => {
          if (hasFailed) return effects.cleanUpPod(context, signal);
          hasFailed = true;
          return Promise.reject(new Error('the test lets the first clean-up fail'));
        },
      }),
    });
    agent.ready();
    agent.add(staticPod('web', 'uid-web'));
    await agent.until('uid-web', 'Syncing.Settled');
    await agent.supervisor.killPod('uid-web');
    await agent.until('uid-web', 'Terminated.BackingOff');
    // As a call does that had timed out.
    await agent.runtime.runPodSandbox({
      metadata: { name: 'web', namespace: 'default', uid: 'uid-web', attempt: 1 },
      logDirectory: join(agent.rootDir, 'pods', 'default_web_uid-web'),
      labels: sandboxLabels(staticPod('web', 'uid-web')),
      annotations: {},
    });
    await agent.pleg.relist();
    expect(agent.pleg.runtimeHolds('uid-web')).toBe('running');
    agent.supervisor.send({ type: 'SYNC', uids: ['uid-web'] });
    await agent.until('uid-web', 'Terminated.Finished');
    const sandboxes = await agent.runtime.listPodSandbox();
    expect(sandboxes.filter(({ state }) => state === 'SANDBOX_READY')).toEqual([]);
  });

  test('I7: a kill of a pod whose actor has just failed is answered', async () => {
    agent.ready();
    agent.add(staticPod('web', 'uid-web'));
    await agent.until('uid-web', 'Syncing.Settled');
    const poison = { ...staticPod('web', 'uid-web'), metadata: undefined } as unknown as Pod;
    agent.supervisor.registry.send('uid-web', { type: 'SyncPodUpdate', pod: poison });
    await agent.supervisor.killPod('uid-web');
    expect(await runningNames()).toEqual([]);
  });

  test('a finished pod that is removed is forgotten without waiting for housekeeping', async () => {
    agent.ready();
    const job = staticPod('job', 'uid-job', {
      restartPolicy: 'Never',
      containers: [{ name: 'main', command: ['sh', '-c', 'exit 0'] }],
    });
    agent.add(job);
    await agent.until('uid-job', 'Terminated.Finished');
    agent.remove(job);
    await agent.until('uid-job', '');
    expect(await agent.runtime.listPodSandbox()).toEqual([]);
  });

  test('once all sources have been seen, logs of unknown pods are removed, and no others', async () => {
    const logs = join(agent.rootDir, 'pods');
    await mkdir(join(logs, 'default_ghost_uid-ghost', 'main'), { recursive: true });
    await writeFile(
      join(logs, 'default_ghost_uid-ghost', 'main', '0.log'),
      '2026-01-01T00:00:00.000000000Z stdout F was here\n',
    );
    // An empty folder might be that of a pod whose agent was killed.
    await mkdir(join(logs, 'not-a-pod', 'kept'), { recursive: true });
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    agent.add(staticPod('web', 'uid-web'));
    await agent.until('uid-web', 'Syncing.Settled');
    expect((await readdir(logs)).toSorted()).toEqual([
      'default_ghost_uid-ghost',
      'default_web_uid-web',
      'not-a-pod',
      'uid-web',
    ]);
    agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
    await waitFor(async () => !(await readdir(logs)).includes('default_ghost_uid-ghost'), {
      what: 'the logs of the ghost to go',
    });
    expect((await readdir(logs)).toSorted()).toEqual(['default_web_uid-web', 'not-a-pod', 'uid-web']);
  });

  test('SHUTDOWN with pods ends running pods, waiting pods, and pods that only the runtime knows', async () => {
    agent.ready();
    agent.add(staticPod('web', 'uid-1'));
    await agent.until('uid-1', 'Syncing.Settled');
    await agent.detach();
    agent = await startAgent({ rootDir: agent.rootDir });
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    agent.add(staticPod('web', 'uid-2'), staticPod('other', 'uid-3'));
    await agent.until('uid-3', 'Syncing.Settled');
    await agent.shutDown(true);
    expect(await agent.runtime.listPodSandbox()).toEqual([]);
    expect(agent.events).not.toContain('web Started');
  });
});

describe('after a restart of the agent', () => {
  afterEach(async () => agent.cleanUp());

  test('I10: running pods are adopted and not started twice; unwanted pods are ended', async () => {
    agent = await startAgent();
    agent.ready();
    const web = staticPod('web', 'uid-web');
    agent.add(web, staticPod('gone', 'uid-gone'));
    await agent.until('uid-web', 'Syncing.Settled');
    await agent.until('uid-gone', 'Syncing.Settled');
    const before = await agent.runtime.listContainers({
      labelSelector: { 'io.kubernetes.pod.uid': 'uid-web' },
    });
    await agent.detach();

    agent = await startAgent({ rootDir: agent.rootDir });
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    agent.add(web);
    await agent.until('uid-web', 'Syncing.Settled');
    agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
    await waitFor(async () => (await agent.runtime.listContainers()).length === 1, {
      what: 'the unwanted pod to go',
    });
    expect(await agent.runtime.listContainers()).toEqual(before);
    expect(agent.events).not.toContain('web Started');
  });

  test('10, I6: a static pod changed while the agent was down waits for its predecessor to end', async () => {
    agent = await startAgent();
    agent.ready();
    agent.add(staticPod('web', 'uid-old'));
    await agent.until('uid-old', 'Syncing.Settled');
    await agent.detach();

    agent = await startAgent({ rootDir: agent.rootDir });
    agent.supervisor.send({ type: 'RUNTIME_READY' });
    agent.add(staticPod('web', 'uid-new'));
    expect(agent.state('uid-new')).toBe('Syncing.Starting.AwaitingName');
    agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
    await agent.until('uid-new', 'Syncing.Settled');
    const running = await agent.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    expect(running.map(({ labels }) => labels['io.kubernetes.pod.uid'])).toEqual(['uid-new']);
  });
});

test('a pod that was admitted and turns out not to be able to run here ends as one that was rejected', async () => {
  let isFull = false;
  const rejection = { reason: 'VolumeAttachmentLimitExceeded', message: 'no room' };
  agent = await startAgent({
    replaced: () => ({
      prepare: () =>
        isFull
          ? Promise.reject(new PrepareError('FailedMount', new RejectedError(rejection), true))
          : Promise.resolve(),
    }),
  });
  agent.ready();
  agent.add(apiPod('web', 'uid-web'));
  await agent.until('uid-web', 'Syncing.Settled');
  isFull = true;
  agent.update(apiPod('web', 'uid-web', { activeDeadlineSeconds: 1_000 }));
  await agent.until('uid-web', 'Terminated.Finished');
  expect(agent.statusManager.get('uid-web')).toMatchObject({
    phase: 'Failed',
    reason: 'VolumeAttachmentLimitExceeded',
    message: 'Pod was rejected: no room',
    containerStatuses: [{ state: { terminated: {} } }],
  });
  expect(agent.events.filter((event) => event === `web ${rejection.reason}`)).toHaveLength(1);
  await agent.cleanUp();
});
