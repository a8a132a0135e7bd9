import { describe, expect, test } from '@jest/globals';
import {
  CONTAINER_GC_POLICY,
  containerGarbage,
} from '../../../../src/agent/policies/garbage/dead-containers.ts';
import {
  emptyRuntimePodStatus,
  isEmpty,
  isRunning,
  runtimePodStatus,
} from '../../../../src/agent/policies/cri/runtime-pod-status.ts';
import type { ContainerStateName, ContainerStatus, PodSandboxStatus } from '../../../../src/types/cri.ts';
import type { RuntimeContainerState } from '../../../../src/types/runtime-pod.ts';
import { runtimePodStatus as view } from '../../../support/runtime-pod-status.ts';

const POD = { uid: 'u', name: 'web', namespace: 'shop' };
const OBSERVED_AT = 1_900_000_000_000;

const sandbox = (more: Partial<PodSandboxStatus> & { attempt?: number } = {}): PodSandboxStatus => ({
  id: 's',
  metadata: { ...POD, attempt: more.attempt ?? 0 },
  state: 'SANDBOX_READY',
  createdAt: 1_000_000,
  labels: {},
  annotations: {},
  ...more,
});
const container = (more: Partial<ContainerStatus> & { attempt?: number } = {}): ContainerStatus => ({
  id: 'c',
  podSandboxId: 's',
  metadata: { name: 'main', attempt: more.attempt ?? 0 },
  image: 'app:1',
  imageRef: 'sha256:1',
  state: 'CONTAINER_RUNNING',
  createdAt: 1_000_000,
  startedAt: 2_000_000,
  finishedAt: 0,
  exitCode: 0,
  reason: '',
  message: '',
  logPath: '/logs/main/0.log',
  labels: {},
  annotations: {},
  ...more,
});
const statusOf = (sandboxes: PodSandboxStatus[], containers: ContainerStatus[]) =>
  runtimePodStatus(POD, sandboxes, containers, OBSERVED_AT);

describe("the runtime's words in the kubelet's terms", () => {
  test('the pod, and when the runtime was asked', () => {
    expect(statusOf([], [])).toEqual({ ...POD, sandboxes: [], containers: [], observedAt: OBSERVED_AT });
  });

  test.each<[ContainerStateName, RuntimeContainerState]>([
    ['CONTAINER_CREATED', 'created'],
    ['CONTAINER_RUNNING', 'running'],
    ['CONTAINER_EXITED', 'exited'],
    ['CONTAINER_UNKNOWN', 'unknown'],
  ])('%s is %s', (state, wanted) => {
    expect(statusOf([], [container({ state })]).containers[0]?.state).toBe(wanted);
  });

  test("what the pod had been granted when its sandbox was made, and no other annotation's text", () => {
    const allocated = { containers: { main: { requests: { cpu: '1' } } } };
    const granted = (text: string) => {
      const annotations = { 'statelet.dev/resources': text };
      return statusOf([sandbox({ annotations })], []).sandboxes[0]?.allocated;
    };
    expect(granted(JSON.stringify(allocated))).toEqual(allocated);
    expect(['', '{', 'null', '[]', '{"containers":[]}', '{"containers":{"main":1}}'].map(granted)).toEqual(
      Array(6).fill(undefined),
    );
  });

  test('the recursive read-only mounts, the mounted images, and the user', () => {
    const mount = { hostPath: '/h', readonly: true, propagation: 'PROPAGATION_PRIVATE' } as const;
    const mounts = [
      { ...mount, containerPath: '/a', recursiveReadOnly: true },
      { ...mount, containerPath: '/b', image: { image: 'sha256:2' } },
    ];
    const user = { uid: 1, gid: 2, supplementalGroups: [3] };
    expect(statusOf([], [container({ mounts, user })]).containers[0]).toMatchObject({
      recursiveReadOnlyMounts: ['/a'],
      mountedImages: ['sha256:2'],
      user,
    });
    const [plain] = statusOf([], [container({ mounts: [{ ...mount, containerPath: '/a' }] })]).containers;
    for (const field of ['recursiveReadOnlyMounts', 'mountedImages', 'user']) {
      expect(plain).not.toHaveProperty(field);
    }
  });

  test('what the status names as the last is what the collection of dead containers keeps, also where the clock was set back', () => {
    const labels = { 'io.kubernetes.pod.uid': 'u' };
    const state = 'CONTAINER_EXITED';
    const earlier = container({ id: 'earlier', state, attempt: 0, createdAt: 9_000_000, labels });
    const last = container({ id: 'last', state, attempt: 1, createdAt: 5_000_000, labels });
    const garbage = containerGarbage(
      { containers: [earlier, last], now: OBSERVED_AT, isPodRemovable: () => false },
      CONTAINER_GC_POLICY,
    );
    expect(garbage.map(({ container: { id } }) => id)).toEqual(['earlier']);
    expect(statusOf([], [earlier, last]).containers.map(({ id }) => id)).toEqual(['last', 'earlier']);
  });

  test('an instance that was created late and never started hides neither one that runs nor one that has ended', () => {
    const late = container({ id: 'late', state: 'CONTAINER_CREATED', attempt: 2, createdAt: 9_000_000 });
    const first = container({ id: 'first', state: 'CONTAINER_EXITED' });
    const second = container({ id: 'second', attempt: 1, createdAt: 5_000_000 });
    const idsOf = (...all: ContainerStatus[]) => statusOf([], all).containers.map(({ id }) => id);
    expect(idsOf(first, late, second)).toEqual(['second', 'first', 'late']);
    expect(idsOf(late, first)).toEqual(['first', 'late']);
  });

  test('nanoseconds become milliseconds, rounded down; a time that is not set stays 0', () => {
    const [seen] = statusOf([], [container({ createdAt: 5_999_999, startedAt: 6_000_000 })]).containers;
    expect(seen).toMatchObject({ createdAt: 5, startedAt: 6, finishedAt: 0 });
  });

  test("a container's attempt is its restart count, its hash comes from the annotation", () => {
    const annotations = { 'io.kubernetes.container.hash': 'abc' };
    const [seen] = statusOf([], [container({ attempt: 4, annotations })]).containers;
    expect(seen).toMatchObject({ name: 'main', restartCount: 4, hash: 'abc', podSandboxId: 's' });
  });

  test('a container without the annotation has no hash', () => {
    expect(statusOf([], [container()]).containers[0]?.hash).toBeUndefined();
  });

  test('how a container ended', () => {
    const ended = { state: 'CONTAINER_EXITED', exitCode: 3, reason: 'Error', message: 'last words' } as const;
    expect(statusOf([], [container(ended)]).containers[0]).toMatchObject({
      exitCode: 3,
      reason: 'Error',
      message: 'last words',
    });
  });

  test('a sandbox: ready or not, network and address', () => {
    const ready = sandbox({ network: { ip: '10.0.0.7' }, networkMode: 'NODE', attempt: 2 });
    expect(statusOf([ready], []).sandboxes[0]).toMatchObject({
      ready: true,
      attempt: 2,
      ip: '10.0.0.7',
      networkMode: 'NODE',
    });
    expect(statusOf([sandbox({ state: 'SANDBOX_NOTREADY' })], []).sandboxes[0]).toMatchObject({
      ready: false,
      ip: undefined,
      networkMode: 'POD',
    });
  });
});

test('a sandbox: all its addresses, the primary one first', () => {
  const ipsOf = (network: PodSandboxStatus['network']) =>
    statusOf([sandbox({ network })], []).sandboxes[0]?.ips;
  expect(ipsOf({ ip: '10.0.0.7', additionalIps: ['fd00::7'] })).toEqual(['10.0.0.7', 'fd00::7']);
  expect(ipsOf({ ip: '10.0.0.7' })).toEqual(['10.0.0.7']);
  expect(ipsOf({ ip: '' })).toBeUndefined();
  expect(ipsOf(undefined)).toBeUndefined();
});

describe('newest first', () => {
  test('by the time of creation', () => {
    const containers = [
      container({ id: 'a', createdAt: 1e6 }),
      container({ id: 'b', createdAt: 3e6 }),
      container({ id: 'c', createdAt: 2e6 }),
    ];
    expect(statusOf([], containers).containers.map(({ id }) => id)).toEqual(['b', 'c', 'a']);
    const sandboxes = [sandbox({ id: 'a', createdAt: 1e6 }), sandbox({ id: 'b', createdAt: 2e6 })];
    expect(statusOf(sandboxes, []).sandboxes.map(({ id }) => id)).toEqual(['b', 'a']);
  });

  test('by the attempt if the times are equal', () => {
    const containers = [container({ id: 'a', attempt: 1 }), container({ id: 'b', attempt: 2 })];
    expect(statusOf([], containers).containers.map(({ id }) => id)).toEqual(['b', 'a']);
    const sandboxes = [sandbox({ id: 'a', attempt: 0 }), sandbox({ id: 'b', attempt: 1 })];
    expect(statusOf(sandboxes, []).sandboxes.map(({ id }) => id)).toEqual(['b', 'a']);
  });
});

describe('I3: what runs', () => {
  test.each<[RuntimeContainerState, boolean]>([
    ['created', false],
    ['running', true],
    ['exited', false],
    ['unknown', true],
  ])('a container that is %s: %s', (state, runs) => {
    expect(isRunning(view({ containers: [{ id: 'c', name: 'main', state }] }))).toBe(runs);
  });

  test('a ready sandbox runs, one that is not ready does not', () => {
    expect(isRunning(view({ sandboxes: [{ id: 's', ready: true }] }))).toBe(true);
    expect(isRunning(view({ sandboxes: [{ id: 's', ready: false }] }))).toBe(false);
  });

  test('one running container among ended ones is enough', () => {
    const containers = (['exited', 'running'] as const).map((state) => ({ id: state, name: state, state }));
    expect(isRunning(view({ containers }))).toBe(true);
  });
});

test('a pod of which the runtime holds nothing is empty and does not run', () => {
  const nothing = emptyRuntimePodStatus(POD, OBSERVED_AT);
  expect(nothing).toEqual(statusOf([], []));
  expect([isEmpty(nothing), isRunning(nothing)]).toEqual([true, false]);
  expect(isEmpty(statusOf([sandbox({ state: 'SANDBOX_NOTREADY' })], []))).toBe(false);
  expect(isEmpty(statusOf([], [container({ state: 'CONTAINER_EXITED' })]))).toBe(false);
});
