import { describe, expect, test } from '@jest/globals';
import { containerID, containerState } from '../../../src/policies/status/container-state.ts';
import type { ContainerStatus } from '../../../src/types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../../src/types/runtime-pod.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';

const FACTS = { runtimeName: 'containerd', podRestarting: false };

/** Times are Unix seconds. */
function instance(fields: Partial<RuntimeContainerStatus>): RuntimeContainerStatus {
  return runtimePodStatus({ containers: [{ id: 'a1', name: 'app', state: 'exited', ...fields }] })
    .containers[0]!;
}

const before = (state: ContainerStatus['state']): ContainerStatus => {
  return { name: 'app', image: '', imageID: '', ready: false, restartCount: 0, ...(state && { state }) };
};

test('the id of a container begins with the name of its runtime', () => {
  expect(containerID('containerd', 'a1')).toBe('containerd://a1');
});

describe('the state of an instance', () => {
  test('that runs says since when', () => {
    expect(containerState(instance({ state: 'running', startedAt: 60 }), FACTS, undefined)).toEqual({
      running: { startedAt: '1970-01-01T00:01:00Z' },
    });
  });

  test('that has ended says how and when', () => {
    const ended = instance({ exitCode: 3, reason: 'Error', message: 'out', startedAt: 60, finishedAt: 120 });
    expect(containerState(ended, FACTS, undefined)).toEqual({
      terminated: {
        exitCode: 3,
        reason: 'Error',
        message: 'out',
        startedAt: '1970-01-01T00:01:00Z',
        finishedAt: '1970-01-01T00:02:00Z',
        containerID: 'containerd://a1',
      },
    });
  });

  test('that has ended has no empty reason or message', () => {
    const { terminated } = containerState(instance({ exitCode: 0 }), FACTS, undefined);
    expect(Object.keys(terminated ?? {})).toEqual(['exitCode', 'startedAt', 'finishedAt', 'containerID']);
  });

  test('that was created and not started waits', () => {
    expect(containerState(instance({ state: 'created' }), FACTS, undefined)).toEqual({ waiting: {} });
  });

  test('in an unknown state waits, unless it was reported as running', () => {
    const unknown = instance({ state: 'unknown' });
    expect(containerState(unknown, FACTS, undefined)).toEqual({ waiting: {} });
    expect(containerState(unknown, FACTS, before({ waiting: {} }))).toEqual({ waiting: {} });
  });

  test('in an unknown state that was reported as running has been killed', () => {
    const unknown = instance({ state: 'unknown' });
    expect(containerState(unknown, FACTS, before({ running: {} }))).toEqual({
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was terminated',
      },
    });
    const restarting = { ...FACTS, podRestarting: true };
    expect(containerState(unknown, restarting, before({ running: {} })).terminated?.reason).toBe(
      'RestartingAllContainers',
    );
  });
});
