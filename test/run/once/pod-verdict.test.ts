import { describe, expect, test } from '@jest/globals';
import { failedContainers, podVerdict } from '../../../src/run/once/pod-verdict.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../src/types/kubernetes.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';

const RUNNING: ContainerState = { running: {} };
const CRASHED: ContainerState = { terminated: { exitCode: 3, reason: 'Error' } };
const DONE: ContainerState = { terminated: { exitCode: 0, reason: 'Completed' } };
const CREATING: ContainerState = { waiting: { reason: 'ContainerCreating' } };

function status(name: string, state: ContainerState, lastState: ContainerState = {}): ContainerStatus {
  return { name, state, lastState, image: '', imageID: '', ready: false, restartCount: 0 };
}

function pod(restartPolicy: string, names: readonly string[], sidecar = false): Pod {
  const initContainers = sidecar ? [{ name: 'sidecar', restartPolicy: 'Always' }] : [];
  return {
    metadata: { name: 'pod', namespace: 'ns', uid: 'uid' },
    spec: { restartPolicy, initContainers, containers: names.map((name) => ({ name })) },
  };
}

/** The verdict on a pod with containers in these states, the first of them `main`. */
function verdict(restartPolicy: string, ...states: ContainerState[]) {
  const names = states.map((_, index) => (index === 0 ? 'main' : `other-${index}`));
  const containerStatuses = states.map((state, index) => status(names[index] ?? '', state));
  return podVerdict(pod(restartPolicy, names), { phase: 'Running', containerStatuses }, undefined).kind;
}

describe('a pod is running or completed', () => {
  test('when all its containers run: since the latest of their starts', () => {
    const containers = [
      { id: '1', name: 'main', state: 'running', startedAt: 1_000 },
      { id: '2', name: 'other', state: 'running', startedAt: 5_000 },
      { id: '3', name: 'other', state: 'exited', startedAt: 9_000 },
    ] as const;
    const containerStatuses = [status('main', RUNNING), status('other', RUNNING)];
    expect(
      podVerdict(
        pod('Always', ['main', 'other']),
        { phase: 'Running', containerStatuses },
        runtimePodStatus({ containers }),
      ),
    ).toEqual({ kind: 'running', sinceMs: 5_000_000 });
  });

  test.each(['Never', 'OnFailure'])(
    'when some of its containers run, and the others have ended with code 0 (%s)',
    (policy) => {
      expect(verdict(policy, RUNNING, DONE)).toBe('running');
    },
  );

  test('when its phase is Succeeded', () => {
    expect(podVerdict(pod('Never', ['main']), { phase: 'Succeeded' }, undefined)).toEqual({
      kind: 'completed',
    });
  });
});

describe('a pod has failed', () => {
  test('when its phase is Failed', () => {
    expect(podVerdict(pod('Always', ['main']), { phase: 'Failed' }, undefined).kind).toBe('failed');
  });

  test('when a container has failed and may not restart, though others run', () => {
    expect(verdict('Never', RUNNING, CRASHED)).toBe('failed');
  });
});

describe('a pod is pending', () => {
  test('that has no status', () => {
    expect(podVerdict(pod('Always', ['main']), undefined, undefined).kind).toBe('pending');
  });

  test.each(['Always', 'OnFailure'])('whose container has failed and is restarted (%s)', (policy) => {
    expect(verdict(policy, RUNNING, CRASHED)).toBe('pending');
  });

  test('whose container has ended with code 0 and is restarted', () => {
    expect(verdict('Always', RUNNING, DONE)).toBe('pending');
  });

  test('with a container that has not been started', () => {
    expect(verdict('Never', RUNNING, CREATING)).toBe('pending');
  });

  test.each([
    ['whose sidecar does not run', CREATING, RUNNING],
    ['with nothing but a sidecar that still runs', RUNNING, DONE],
  ])('%s', (_, sidecar, main) => {
    const shown: PodStatus = {
      phase: 'Running',
      initContainerStatuses: [status('sidecar', sidecar)],
      containerStatuses: [status('main', main)],
    };
    expect(podVerdict(pod('OnFailure', ['main'], true), shown, undefined).kind).toBe('pending');
  });
});

describe('failed containers are listed with the cause', () => {
  test('containers that ended with another code than 0, init containers first', () => {
    const shown: PodStatus = {
      initContainerStatuses: [status('init', CRASHED)],
      containerStatuses: [
        status('main', { terminated: { exitCode: 137, reason: 'OOMKilled', message: 'too much\n' } }),
        status('job', DONE),
        status('web', RUNNING),
      ],
    };
    expect(failedContainers(shown)).toEqual([
      { name: 'init', why: 'exit code 3 (Error)' },
      { name: 'main', why: 'exit code 137 (OOMKilled): too much' },
    ]);
  });

  test('containers that wait for a restart or cannot be started, but not those that wait for their first start', () => {
    const backOff = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } };
    const shown: PodStatus = {
      containerStatuses: [
        status('main', backOff, CRASHED),
        status('image', { waiting: { reason: 'ErrImagePull', message: 'not found' } }),
        status('later', CREATING),
        status('last', { waiting: { reason: 'PodInitializing' } }),
      ],
    };
    expect(failedContainers(shown)).toEqual([
      { name: 'main', why: 'exit code 3 (Error); CrashLoopBackOff: back-off 10s' },
      { name: 'image', why: 'ErrImagePull: not found' },
    ]);
  });

  test('none without a status', () => {
    expect(failedContainers(undefined)).toEqual([]);
  });
});
