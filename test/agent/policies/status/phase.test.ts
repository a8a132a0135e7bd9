import { describe, expect, test } from '@jest/globals';
import {
  allContainersRun,
  isStartAwaited,
  isStateful,
  podPhase,
  RESTARTING_ALL_CONTAINERS,
} from '../../../../src/agent/policies/status/phase.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { podOf } from '../../../support/pod-status-facts.ts';
import { testPod } from '../../../support/pods.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('phase');

type State = NonNullable<ContainerStatus['state']>;

const RUNNING: State = { running: {} };
const WAITING: State = { waiting: { reason: 'ContainerCreating' } };
const SIDECAR: Container = { name: 'proxy', restartPolicy: 'Always' };
const INIT: Container = { name: 'setup' };

const ended = (exitCode: number, reason = ''): State => ({ terminated: { exitCode, reason } });

function status(name: string, state: State, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: '', imageID: '', ready: false, restartCount: 0, state, ...more };
}

const pod = (restartPolicy: string, spec: Partial<Pod['spec']> = {}) => podOf({ restartPolicy, ...spec });

/** Of a pod that may start containers, and of which a regular one has run before. */
const phase = (of: Pod, ...statuses: ContainerStatus[]) => podPhase(of, statuses, false, true);

describe('the phase by regular containers', () => {
  test('is Pending while one is unknown or waits for its first start', () => {
    expect(phase(pod('Always'))).toBe('Pending');
    expect(phase(pod('Always'), status('app', WAITING))).toBe('Pending');
  });

  test('is Pending while one waits, although another runs', () => {
    const two = pod('Always', { containers: [{ name: 'app' }, { name: 'web' }] });
    expect(phase(two, status('app', RUNNING), status('web', WAITING))).toBe('Pending');
  });

  test('is Running while one runs, although another has failed', () => {
    const two = pod('Never', { containers: [{ name: 'app' }, { name: 'web' }] });
    expect(phase(two, status('app', RUNNING), status('web', ended(1)))).toBe('Running');
  });

  test.each([
    ['Always', 0, 'Running'],
    ['Always', 1, 'Running'],
    ['OnFailure', 0, 'Succeeded'],
    ['OnFailure', 1, 'Running'],
    ['Never', 0, 'Succeeded'],
    ['Never', 1, 'Failed'],
  ])('with restartPolicy %s and an end with %d is %s', (restartPolicy, exitCode, want) => {
    expect(phase(pod(restartPolicy), status('app', ended(exitCode)))).toBe(want);
  });

  test('is Failed when one of several ended containers failed', () => {
    const two = pod('Never', { containers: [{ name: 'app' }, { name: 'web' }] });
    expect(phase(two, status('app', ended(0)), status('web', ended(1)))).toBe('Failed');
  });

  test('is Running while a container waits to be started again', () => {
    const backOff = { waiting: { reason: 'CrashLoopBackOff' } };
    expect(phase(pod('Always'), status('app', backOff, { lastState: ended(1) }))).toBe('Running');
  });

  test('is Running for a container that was removed to start all containers over', () => {
    const removed = { lastState: ended(137, RESTARTING_ALL_CONTAINERS) };
    expect(phase(pod('Never'), status('app', WAITING, removed))).toBe('Running');
  });
});

describe('the phase of a pod that starts no container again', () => {
  test('is Failed or Succeeded by the exit codes, whatever the restart policy', () => {
    expect(podPhase(pod('Always'), [status('app', ended(1))], true, true)).toBe('Failed');
    expect(podPhase(pod('Always'), [status('app', ended(0))], true, true)).toBe('Succeeded');
  });

  test('is Failed where the container only waits to be started again, even after an end with 0', () => {
    const waiting = status('app', WAITING, { lastState: ended(0) });
    expect(podPhase(pod('Always'), [waiting], true, true)).toBe('Failed');
  });

  test('follows the restart policy for a static pod, since its source may start it again', () => {
    const annotations = { 'kubernetes.io/config.source': 'file' };
    const metadata = { name: 'web', namespace: 'shop', uid: 'u-1', annotations };
    const fixed = podOf({ restartPolicy: 'Always' }, { metadata });
    expect(podPhase(fixed, [status('app', ended(1))], true, true)).toBe('Running');
  });
});

describe('the phase by init containers', () => {
  const withInit = (restartPolicy: string) => pod(restartPolicy, { initContainers: [INIT] });

  test('is Pending until each of them has ended', () => {
    expect(phase(withInit('Always'), status('app', RUNNING))).toBe('Pending');
    expect(phase(withInit('Always'), status('setup', RUNNING))).toBe('Pending');
  });

  test('is Failed when one failed that is not started again', () => {
    expect(phase(withInit('Never'), status('setup', ended(1)))).toBe('Failed');
  });

  test('is Pending when one failed that is started again', () => {
    expect(phase(withInit('OnFailure'), status('setup', ended(1)), status('app', WAITING))).toBe('Pending');
  });
});

describe('the phase by sidecars', () => {
  const withSidecar = pod('Never', { initContainers: [SIDECAR] });
  const running = status('app', RUNNING);

  test('is Pending while one starts, as long as no regular container has been started', () => {
    const starting = status('proxy', RUNNING, { started: false });
    expect(podPhase(withSidecar, [starting, running], false, false)).toBe('Pending');
    expect(podPhase(withSidecar, [starting, running], false, true)).toBe('Running');
  });

  test('is Pending while one of several starts', () => {
    const two = pod('Never', { initContainers: [SIDECAR, { name: 'logs', restartPolicy: 'Always' }] });
    const statuses = [status('proxy', RUNNING, { started: true }), status('logs', RUNNING), running];
    expect(podPhase(two, statuses, false, false)).toBe('Pending');
  });

  test('does not wait for a sidecar that has stopped', () => {
    expect(podPhase(withSidecar, [status('proxy', ended(1)), running], false, false)).toBe('Running');
  });

  test('does not depend on sidecars that have stopped', () => {
    expect(phase(withSidecar, status('proxy', ended(1)), status('app', ended(0)))).toBe('Succeeded');
  });

  test('is Running while only a sidecar runs', () => {
    expect(phase(withSidecar, status('proxy', RUNNING, { started: true }), status('app', ended(0)))).toBe(
      'Running',
    );
  });
});

const served = (status: PodStatus): Pod => ({ ...testPod(), status });

test('a pod of the API server still starts if it has no start time and the scheduler has not refused it', () => {
  expect(isStartAwaited(served({}))).toBe(true);
  expect(isStartAwaited(served({ startTime: '2030-01-01T00:00:00Z' }))).toBe(false);
  expect(isStartAwaited(served({ conditions: [{ type: 'PodScheduled', status: 'False' }] }))).toBe(false);
  const annotations = { 'kubernetes.io/config.source': 'file' };
  expect(isStartAwaited(testPod({ annotations }))).toBe(false);
});

test.each([
  [{ name: 'a', emptyDir: {} }, false],
  [{ name: 'a', projected: { sources: [] } }, false],
  [{ name: 'a', hostPath: { path: '/x' } }, true],
  [{ name: 'a', persistentVolumeClaim: { claimName: 'x' } }, true],
])('whether a pod with the volume %j keeps something: %s', (volume, stateful) => {
  const pod = testPod();
  expect(isStateful({ ...pod, spec: { ...pod.spec, volumes: [volume] } })).toBe(stateful);
});

test('all containers run, and there is at least one', () => {
  const one = (state: ContainerStatus['state']): ContainerStatus => ({
    ...{ name: 'a', image: '', imageID: '', ready: false, restartCount: 0 },
    ...(state && { state }),
  });
  const runs = one({ running: { startedAt: '2030-01-01T00:00:00Z' } });
  expect(allContainersRun({ containerStatuses: [runs, runs] })).toBe(true);
  expect(allContainersRun({ containerStatuses: [runs, one({ waiting: {} })] })).toBe(false);
  expect(allContainersRun({})).toBe(false);
});
