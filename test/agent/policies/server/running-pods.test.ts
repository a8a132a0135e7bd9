import { describe, expect, test } from '@jest/globals';
import {
  asGoWrites,
  checkpointFile,
  checkpointTimeout,
  hasContainer,
  runningPods,
} from '../../../../src/agent/policies/server/running-pods.ts';
import type { Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import type {
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
} from '../../../../src/types/runtime-pod.ts';

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

describe('the time limit', () => {
  const timeout = (query: string) => checkpointTimeout(new URLSearchParams(query));

  test.each([
    ['', 0],
    ['timeout=5', 5],
    ['timeout=%2B5', 5],
    ['timeout=-1', -1],
    ['timeout=1&timeout=7', 7],
    ['timeout=9223372036854775807', 2 ** 31 - 1],
  ])('?%s', (query, seconds) => {
    expect(timeout(query)).toBe(seconds);
  });

  test.each([
    'timeout=',
    'timeout=abc',
    'timeout=1s',
    'timeout=1.5',
    'timeout=9223372036854775808',
    'timeout=1&timeout=x',
  ])('?%s is no number of 64 bits', (query) => {
    expect(() => timeout(query)).toThrow('cannot parse value of timeout parameter');
  });
});

test('containers of all kinds count', () => {
  const pod = {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: {
      containers: [{ name: 'main' }],
      initContainers: [{ name: 'init' }],
      ephemeralContainers: [{ name: 'debugger' }],
    },
  } as unknown as Pod;
  expect(['main', 'init', 'debugger', 'nope'].map((name) => hasContainer(pod, name))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test('the archive is named after pod, container and time', () => {
  const metadata = { name: 'web', namespace: 'default', uid: 'u' };
  expect(checkpointFile(metadata, 'main', Date.UTC(2026, 10, 22, 15, 4, 5, 678))).toBe(
    'checkpoint-web_default-main-2026-11-22T15:04:05Z.tar',
  );
});

test('conditions and containers have their empty members', () => {
  const running = { running: { startedAt: '2026-11-22T16:32:37Z' } };
  const status = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-11-22T16:32:37Z' }],
    containerStatuses: [{ name: 'main', state: running }],
    initContainerStatuses: [{ name: 'init', lastState: running }],
  } as unknown as PodStatus;
  expect(asGoWrites(status)).toEqual({
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-11-22T16:32:37Z' },
    ],
    containerStatuses: [{ name: 'main', state: running, lastState: {} }],
    initContainerStatuses: [{ name: 'init', state: {}, lastState: running }],
  });
});

test('a status without either stays as it is', () => {
  expect(asGoWrites({ phase: 'Pending' })).toEqual({ phase: 'Pending' });
});
