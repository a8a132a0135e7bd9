/** Cases that the vectors cover too little: the former status counts for instances that the runtime has forgotten. */
import { describe, expect, test } from '@jest/globals';
import { apiContainerStatuses } from '../../../src/policies/status/container-statuses.ts';
import type { ContainerFacts } from '../../../src/policies/status/container-facts.ts';
import type { ContainerStatus, PodStatus } from '../../../src/types/kubernetes.ts';
import { instance, podOf } from '../../support/pod-status-facts.ts';
import { runtimePodStatus, type PartialContainer } from '../../support/runtime-pod-status.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('containerStatuses');

const ENDED_BEFORE = {
  exitCode: 0,
  reason: 'Completed',
  containerID: 'process://init-0',
  startedAt: '2030-01-01T00:00:00Z',
  finishedAt: '2030-01-01T00:00:09Z',
};

function oldStatus(name: string, more: Partial<ContainerStatus>): ContainerStatus {
  return { name, image: `${name}:0`, imageID: 'sha256:0', ready: false, restartCount: 2, ...more };
}

function statusesOf(
  containers: readonly PartialContainer[],
  old: PodStatus,
  more: Partial<ContainerFacts> = {},
) {
  const pod = podOf({ initContainers: [{ name: 'init', image: 'init:1' }] });
  const facts: ContainerFacts = {
    pod,
    podStatus: runtimePodStatus({ containers }),
    startFailures: new Map(),
    podRestarting: false,
    runtimeName: 'process',
    ...more,
  };
  const { containerStatuses, initContainerStatuses } = apiContainerStatuses(facts, old);
  return { app: containerStatuses[0], init: initContainerStatuses[0] };
}

describe('an init container that the runtime has forgotten, in a pod whose containers have been created', () => {
  const app = instance('app', 'running');

  test('keeps its whole status if its end was reported', () => {
    const old = oldStatus('init', {
      containerID: 'process://init-0',
      ready: true,
      state: { terminated: ENDED_BEFORE },
      lastState: { terminated: { exitCode: 3 } },
    });
    expect(statusesOf([app], { initContainerStatuses: [old] }).init).toStrictEqual(old);
  });

  test('keeps a failure that was reported', () => {
    const failed = { exitCode: 4, reason: 'Error', containerID: 'process://init-0' };
    const old = oldStatus('init', { containerID: 'process://init-0', state: { terminated: failed } });
    expect(statusesOf([app], { initContainerStatuses: [old] }).init).toStrictEqual(old);
  });

  test.each([
    ['nothing was reported', undefined],
    ['it was reported as waiting', oldStatus('init', { state: { waiting: { reason: 'PodInitializing' } } })],
    ['it was reported as running', oldStatus('init', { state: { running: {} } })],
  ])('has succeeded where %s', (_, old) => {
    const { init } = statusesOf([app], { initContainerStatuses: old ? [old] : [] });
    expect(init?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(init?.containerID).toBeUndefined();
  });

  test('shows a start failure only if its end was reported', () => {
    const startFailures = new Map([['init', { reason: 'ErrImagePull', message: 'why' }]]);
    const ended = oldStatus('init', { state: { terminated: ENDED_BEFORE } });
    const { init } = statusesOf([app], { initContainerStatuses: [ended] }, { startFailures });
    expect(init).toMatchObject({
      state: { waiting: { reason: 'ErrImagePull', message: 'why' } },
      lastState: { terminated: ENDED_BEFORE },
    });
    const inferred = statusesOf([app], {}, { startFailures }).init;
    expect(inferred?.state?.terminated?.reason).toBe('Completed');
  });
});

describe('while all containers are restarted in place', () => {
  const podRestarting = true;
  const running = oldStatus('app', { state: { running: {} }, containerID: 'process://app-1' });

  test('a container that ran and whose state is unknown has ended for that reason', () => {
    const { app } = statusesOf(
      [instance('app', 'unknown', { restartCount: 2 })],
      { containerStatuses: [running] },
      { podRestarting },
    );
    expect(app).toMatchObject({
      containerID: 'process://app-1',
      restartCount: 3,
      state: {
        terminated: {
          exitCode: 137,
          reason: 'RestartingAllContainers',
          message: 'The container could not be located when the pod was terminated',
        },
      },
    });
  });

  test('the instance before the newest has ended for that reason too', () => {
    const { app } = statusesOf(
      [
        instance('app', 'exited', { id: 'app-2', createdAt: 9, restartCount: 3, exitCode: 1 }),
        instance('app', 'unknown', { restartCount: 2 }),
      ],
      { containerStatuses: [running] },
      { podRestarting },
    );
    expect(app?.lastState?.terminated).toMatchObject({ exitCode: 137, reason: 'RestartingAllContainers' });
  });

  test('otherwise such a container has ended with an unknown status', () => {
    const { app } = statusesOf([instance('app', 'unknown')], { containerStatuses: [running] });
    expect(app?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown' });
  });

  test('a container that was only waiting counts no restart', () => {
    const waiting = oldStatus('app', {
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 3 } },
    });
    const { app } = statusesOf([], { containerStatuses: [waiting] }, { podRestarting });
    expect(app).toStrictEqual({
      name: 'app',
      image: 'app:1',
      imageID: '',
      ready: false,
      restartCount: 2,
      state: { waiting: { reason: 'PodInitializing' } },
      lastState: { terminated: { exitCode: 3 } },
    });
  });

  test('a container whose restart was reported counts no second restart', () => {
    const first = statusesOf([], { containerStatuses: [running] }, { podRestarting }).app;
    expect(first).toMatchObject({
      restartCount: 3,
      state: { waiting: { reason: 'RestartingAllContainers' } },
    });
    const again = statusesOf([], { containerStatuses: first ? [first] : [] }, { podRestarting }).app;
    expect(again?.restartCount).toBe(3);
    expect(again?.lastState?.terminated?.reason).toBe('RestartingAllContainers');
  });

  test('a container that had ended waits, and keeps what was reported about its instance', () => {
    const ended = oldStatus('app', {
      containerID: 'process://app-0',
      state: { terminated: { exitCode: 42, containerID: 'process://app-0' } },
    });
    const { app } = statusesOf([], { containerStatuses: [ended] }, { podRestarting });
    expect(app).toMatchObject({
      containerID: 'process://app-0',
      image: 'app:0',
      restartCount: 3,
      state: { waiting: { reason: 'RestartingAllContainers' } },
      lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } },
    });
    expect(app?.state?.terminated).toBeUndefined();
  });
});

describe('a container that the runtime has forgotten and that was', () => {
  test('running counts a restart, unless its pod is being deleted', () => {
    const old = { containerStatuses: [oldStatus('app', { state: { running: {} } })] };
    const { app } = statusesOf([], old);
    expect(app).toMatchObject({
      restartCount: 3,
      state: { waiting: { reason: 'PodInitializing' } },
      lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
    });
    const base = podOf({ initContainers: [{ name: 'init', image: 'init:1' }] });
    const deletionTimestamp = '2030-01-01T00:00:00Z';
    const pod = { ...base, metadata: { ...base.metadata, deletionTimestamp } };
    expect(statusesOf([], old, { pod }).app?.restartCount).toBe(2);
  });

  test('running, after an end that was reported, keeps that end', () => {
    const old = oldStatus('app', { state: { running: {} }, lastState: { terminated: { exitCode: 3 } } });
    const { app } = statusesOf([], { containerStatuses: [old] });
    expect(app?.lastState?.terminated).toStrictEqual({ exitCode: 3 });
    expect(app?.restartCount).toBe(2);
  });
});
