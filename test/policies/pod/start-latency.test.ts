import { expect, test } from '@jest/globals';
import { allContainersRun, isStartAwaited, isStateful } from '../../../src/policies/pod/start-latency.ts';
import { testPod } from '../../support/pods.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../src/types/kubernetes.ts';

const served = (status: PodStatus): Pod => ({ ...testPod(), status });

test('a start is awaited of a pod of the API server that nobody has begun and the scheduler has not refused', () => {
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
