import { expect, test } from '@jest/globals';
import {
  hasProbedContainers,
  probedContainers,
  withOwedHooks,
} from '../../../src/policies/status/known-containers.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../src/types/runtime-pod.ts';

const instance = (id: string, more: Partial<RuntimeContainerStatus> = {}) =>
  ({ id, name: id, state: 'running', ...more }) as RuntimeContainerStatus;
const podStatus = (...containers: RuntimeContainerStatus[]) =>
  ({
    uid: 'uid',
    name: 'pod',
    namespace: 'default',
    sandboxes: [],
    containers,
    observedAt: 0,
  }) as RuntimePodStatus;

test('a container owes its hook while it runs, its agent remembers hooks, and none is remembered', () => {
  const status = podStatus(
    instance('owes', { recordsHook: true }),
    instance('done', { recordsHook: true }),
    instance('ended', { recordsHook: true, state: 'exited' }),
    instance('of the kubelet'),
  );
  const { containers } = withOwedHooks(status, (id) => (id === 'done' ? { hooked: true } : {}));
  expect(containers.filter(({ owesHook }) => owesHook).map(({ id }) => id)).toEqual(['owes']);
});

test('a pod without such a container is passed on as it is', () => {
  const status = podStatus(instance('of the kubelet'));
  expect(withOwedHooks(status, () => undefined)).toBe(status);
});

const probe = { exec: { command: ['true'] } };
const pod = {
  metadata: { name: 'pod', namespace: 'default', uid: 'uid' },
  spec: {
    containers: [
      { name: 'ready', readinessProbe: probe },
      { name: 'live', livenessProbe: probe },
    ],
    initContainers: [{ name: 'side', restartPolicy: 'Always', startupProbe: probe }],
  },
} as unknown as Pod;

test('containers that run and have a startup or a readiness probe are remembered as their status says', () => {
  const shown = (name: string, more: object = {}) => ({
    name,
    containerID: `statelet://${name}-1`,
    ready: true,
    started: true,
    state: { running: {} },
    ...more,
  });
  const status = {
    containerStatuses: [shown('ready'), shown('live')],
    initContainerStatuses: [shown('side', { ready: false, started: false })],
  };
  expect(probedContainers(pod, status as never)).toEqual([
    { containerId: 'ready-1', known: { started: true, ready: true } },
    { containerId: 'side-1', known: { started: false, ready: false } },
  ]);
  const waiting = { containerStatuses: [shown('ready', { state: { waiting: {} } })] };
  expect(probedContainers(pod, waiting as never)).toEqual([]);
  expect(hasProbedContainers(pod)).toBe(true);
});
