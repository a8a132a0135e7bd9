import { expect, test } from '@jest/globals';
import { loggedInstance, runtimeId } from '../../../../src/agent/policies/server/container-log-request.ts';
import type { ContainerStatus } from '../../../../src/types/kubernetes.ts';

const request = { podName: 'web', container: 'app', previous: false };

function found(status: Partial<ContainerStatus>) {
  const base = { name: 'app', image: '', imageID: '', ready: false, restartCount: 0 };
  return loggedInstance({ containerStatuses: [{ ...base, ...status }] }, request);
}

test.each([
  ['ErrImagePull', "image can't be pulled"],
  ['ImagePullBackOff', 'trying and failing to pull image'],
  ['ContainerCreating', 'ContainerCreating'],
])('of a container that waits for %s there is no log', (reason, shown) => {
  const problem = `container "app" in pod "web" is waiting to start: ${shown}`;
  expect(found({ state: { waiting: { reason } } })).toEqual({ problem });
});

test('of a container that waits for its next start, the log of its last instance is shown', () => {
  const lastState = { terminated: { exitCode: 1, containerID: 'containerd://last' } };
  const state = { waiting: { reason: 'CrashLoopBackOff' } };
  expect(found({ state, lastState })).toEqual({ containerId: 'containerd://last' });
});

test('a container without any state has no log yet', () => {
  expect(found({})).toEqual({ problem: 'container "app" in pod "web" is waiting to start - no logs yet' });
});

test("the runtime's id is the part after the runtime's name", () => {
  expect(runtimeId('containerd://abc')).toBe('abc');
  expect(runtimeId('')).toBe('');
});
