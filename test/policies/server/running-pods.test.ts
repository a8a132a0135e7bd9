import { expect, test } from '@jest/globals';
import { runningPods } from '../../../src/policies/server/running-pods.ts';
import type {
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
} from '../../../src/types/runtime-pod.ts';

const container = (name: string, state: RuntimeContainerState, createdAt: number) =>
  ({ name, state, createdAt, image: `${name}:1`, imageRef: `sha256:${name}` }) as RuntimeContainerStatus;
const pod = (
  uid: string,
  containers: readonly RuntimeContainerStatus[],
  ready = false,
): RuntimePodStatus => ({
  uid,
  name: `pod-${uid}`,
  namespace: 'default',
  sandboxes: [{ id: uid, ready, attempt: 0, createdAt: 1, networkMode: 'POD' }],
  containers,
  observedAt: 0,
});

test('a pod has its name, its UID, and the names and images of what runs', () => {
  const running = [
    container('main', 'running', 5),
    container('old', 'exited', 4),
    container('new', 'created', 6),
  ];
  expect(runningPods([pod('a', running)])).toEqual([
    {
      metadata: { name: 'pod-a', namespace: 'default', uid: 'a' },
      spec: { containers: [{ name: 'main', image: 'sha256:main', resources: {} }] },
      status: {},
    },
  ]);
});

test('a pod runs if its sandbox is ready or a container runs; the newest is the first', () => {
  const pods = [
    pod('older', [container('main', 'running', 5)]),
    pod('ended', [container('main', 'exited', 9)]),
    pod('newer', [container('main', 'running', 7)]),
    pod('starting', [], true),
  ];
  expect(runningPods(pods).map(({ metadata }) => metadata.uid)).toEqual(['newer', 'older', 'starting']);
});

test('an image without reference has its name', () => {
  const [found] = runningPods([pod('a', [{ ...container('main', 'running', 5), imageRef: '' }])]);
  expect(found?.spec.containers[0]?.image).toBe('main:1');
});
