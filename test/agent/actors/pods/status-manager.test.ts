import { beforeEach, describe, expect, test } from '@jest/globals';
import { StatusManager, type StatusNews } from '../../../../src/agent/actors/pods/status-manager.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { clockOf, testContext } from '../../../support/test-context.ts';

const START = Date.UTC(2030, 0, 1);
const TIME = '2030-01-01T00:00:00Z';
const REJECTION = { reason: 'OutOfcpu', message: 'no cpu is left' };

let now: number;
let mirrorPod: Pod | undefined;
let manager: StatusManager;
let news: StatusNews[];
let refused: string[];

beforeEach(() => {
  now = START;
  mirrorPod = undefined;
  news = [];
  refused = [];
  const warn = ({ problem = '' }: { problem?: string }) => void refused.push(problem);
  const context = testContext({ clock: clockOf(() => now), logger: { ...silentLogger, warn } });
  manager = new StatusManager(context, { ownMirrorPodOf: () => mirrorPod });
  manager.news.subscribe((change) => news.push(change));
});

const container = (more: Partial<ContainerStatus>): ContainerStatus => ({
  name: 'main',
  image: '',
  imageID: '',
  containerID: 'containerd://c-1',
  ready: false,
  restartCount: 0,
  ...more,
});
const pod = testPod();
const { uid } = pod.metadata;
const version = () => manager.entry(uid)?.version;
const conditionOf = (type: string) =>
  manager.get(uid)?.conditions?.find((condition) => condition.type === type);

describe('a status', () => {
  test('has a new version where it differs, and none where it does not', () => {
    expect(manager.set(pod, { phase: 'Pending' })).toBe(true);
    expect(manager.set(pod, { phase: 'Pending' })).toBe(false);
    expect(manager.set(pod, { phase: 'Running' })).toBe(true);
    expect(version()).toBe(2);
    expect(news.map(({ isNew }) => isNew)).toEqual([true, false]);
  });

  test('of a pod that is being deleted has a new version each time', () => {
    const leaving = testPod({ deleted: true });
    manager.set(leaving, { phase: 'Running' });
    expect(manager.set(leaving, { phase: 'Running' })).toBe(true);
  });

  test('with another transition time, or another order of conditions, is the same', () => {
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'Initialized', status: 'True' },
    ];
    manager.set(pod, { phase: 'Running', conditions });
    now += 60_000;
    expect(manager.set(pod, { phase: 'Running', conditions: conditions.toReversed() })).toBe(false);
    expect(conditionOf('Ready')?.lastTransitionTime).toBe(TIME);
  });

  test('keeps the time of its start, and the highest generation that was observed', () => {
    const generation = (value: number): Pod => ({ ...pod, metadata: { ...pod.metadata, generation: value } });
    manager.set(generation(3), { phase: 'Pending' });
    now += 60_000;
    manager.set(generation(2), { phase: 'Running', startTime: '2031-01-01T00:00:00Z' });
    expect(manager.get(uid)).toMatchObject({ startTime: TIME, observedGeneration: 3 });
  });

  test('that starts an ended container again, which is not allowed, is dropped and logged', () => {
    const job: Pod = { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } };
    const ended = container({ state: { terminated: { exitCode: 0 } } });
    manager.set(job, { phase: 'Succeeded', containerStatuses: [ended] });
    const again = container({ state: { running: {} } });
    expect(manager.set(job, { phase: 'Running', containerStatuses: [again] })).toBe(false);
    expect(manager.get(uid)?.phase).toBe('Succeeded');
    expect(refused).toEqual([expect.stringContaining('terminated container main')]);
  });

  test('of a static pod goes on from that of its mirror pod', () => {
    const fixed = testPod({ annotations: { 'kubernetes.io/config.source': 'file' } });
    mirrorPod = { ...testPod({ uid: 'mirror' }), status: { startTime: '2029-12-31T00:00:00Z' } };
    manager.set(fixed, { phase: 'Running' });
    expect(manager.get(uid)?.startTime).toBe('2029-12-31T00:00:00Z');
  });
});

describe('what is known before the first status', () => {
  test('is the start that is recalled, and no reason to write to the API server', () => {
    manager.recallStart({ ...pod, status: { phase: 'Pending' } }, '2029-12-31T00:00:00Z');
    expect(manager.get(uid)).toEqual({ phase: 'Pending', startTime: '2029-12-31T00:00:00Z' });
    expect([...manager.entries()]).toEqual([]);
    expect(news).toEqual([]);
  });

  test('is forgotten with the pod', () => {
    manager.recallStart(pod, TIME);
    manager.keepOnly(() => false);
    expect(manager.get(uid)).toBeUndefined();
  });
});

describe('the result of a probe counts at once', () => {
  const RUNNING: PodStatus = {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
      { type: 'ContainersReady', status: 'False', reason: 'ContainersNotReady' },
    ],
    containerStatuses: [container({ state: { running: {} }, started: false })],
  };
  const main = () => manager.get(uid)?.containerStatuses?.[0];

  test('of a readiness probe: the container and the pod are ready', () => {
    manager.set(pod, RUNNING);
    now += 5_000;
    manager.setContainerReadiness(pod, 'containerd://c-1', true);
    expect(main()?.ready).toBe(true);
    for (const type of ['Ready', 'ContainersReady'])
      expect(conditionOf(type)).toMatchObject({ status: 'True', lastTransitionTime: '2030-01-01T00:00:05Z' });
    expect(version()).toBe(2);
  });

  test('of a startup probe: the container has started', () => {
    manager.set(pod, RUNNING);
    manager.setContainerStartup(pod, 'containerd://c-1', true);
    expect(main()?.started).toBe(true);
  });

  test('of a container that has been replaced: nothing', () => {
    manager.set(pod, RUNNING);
    manager.setContainerReadiness(pod, 'containerd://c-0', true);
    manager.setContainerStartup(pod, 'containerd://c-0', true);
    expect(version()).toBe(1);
  });
});

describe('a pod without a whole status gets none of a part alone: it would empty what the API server has of the pod', () => {
  test.each<[what: string, tell: () => void]>([
    ['a sandbox that stands', () => manager.sandboxReady(pod)],
    ['a readiness probe', () => manager.setContainerReadiness(pod, 'containerd://c-1', true)],
    ['a startup probe', () => manager.setContainerStartup(pod, 'containerd://c-1', true)],
  ])('%s', (_what, tell) => {
    tell();
    expect(manager.entry(uid)).toBeUndefined();
    expect(news).toEqual([]);
  });
});

test('a whole status counts as it is, even without a phase', () => {
  expect(manager.set(pod, { qosClass: 'Burstable' })).toBe(true);
  expect(version()).toBe(1);
});

test('a sandbox that stands is shown before its containers start', () => {
  manager.set(pod, {
    phase: 'Pending',
    conditions: [{ type: 'PodReadyToStartContainers', status: 'False' }],
  });
  now += 5_000;
  manager.sandboxReady(pod);
  expect(conditionOf('PodReadyToStartContainers')).toMatchObject({
    status: 'True',
    lastTransitionTime: '2030-01-01T00:00:05Z',
  });
  expect(version()).toBe(2);
});

describe('the end', () => {
  test('of a static pod of which none was kept is that of its mirror pod, not an empty one', () => {
    const status: PodStatus = { phase: 'Running', qosClass: 'Burstable', hostIP: '192.0.2.1' };
    mirrorPod = { ...pod, status };
    manager.terminate(testPod({ annotations: { 'kubernetes.io/config.source': 'file' } }));
    expect(manager.get(uid)).toMatchObject(status);
  });

  test('of a pod of which the API server has nothing builds upon what its own object says', () => {
    const status: PodStatus = { phase: 'Pending', qosClass: 'Burstable' };
    manager.terminate({ ...testPod({ annotations: { 'kubernetes.io/config.source': 'file' } }), status });
    expect(manager.entry(uid)).toMatchObject({ podIsFinished: true, status });
  });

  test('has the time of its disruption from the API server as soon as that has it, which is no new version', () => {
    const disruption = { type: 'DisruptionTarget', status: 'True' };
    manager.set(pod, { phase: 'Failed', conditions: [disruption] });
    const told = { ...disruption, lastTransitionTime: '2030-01-01T00:01:00Z' };
    manager.disruptionTold(uid, told);
    expect(conditionOf('DisruptionTarget')).toEqual(told);
    expect(version()).toBe(1);
    manager.disruptionTold(uid, { ...told, status: 'False' });
    manager.disruptionTold('unknown', told);
    expect(conditionOf('DisruptionTarget')).toEqual(told);
    expect(manager.entry('unknown')).toBeUndefined();
  });

  test('leaves no container without an end, and no pod without a terminal phase', () => {
    manager.set(pod, { phase: 'Running', containerStatuses: [container({ state: { running: {} } })] });
    manager.terminate(pod);
    expect(manager.entry(uid)).toMatchObject({
      podIsFinished: true,
      status: {
        phase: 'Failed',
        containerStatuses: [{ state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } }],
      },
    });
    expect(news.at(-1)).toEqual({ uid, isNew: false, podIsFinished: true, canWait: false });
  });

  test('of a static pod leaves its phase: its source decides whether it runs again', () => {
    const fixed = testPod({ annotations: { 'kubernetes.io/config.source': 'file' } });
    manager.set(fixed, { phase: 'Running' });
    manager.terminate(fixed);
    expect(manager.get(uid)?.phase).toBe('Running');
  });

  test('stays the end, whatever status comes later', () => {
    manager.terminate(pod);
    manager.set(pod, { phase: 'Failed', message: 'late' });
    expect(manager.entry(uid)?.podIsFinished).toBe(true);
  });
});

describe('a pod that is not admitted', () => {
  test('and waits has no start time, also when it is admitted', () => {
    manager.setWaiting(pod, REJECTION);
    expect(manager.get(uid)).toMatchObject({ phase: 'Pending', reason: 'OutOfcpu' });
    manager.admit(pod);
    expect(manager.get(uid)?.reason).toBeUndefined();
    expect(manager.get(uid)?.startTime).toBeUndefined();
    manager.recallStart(pod, TIME);
    expect(manager.get(uid)?.startTime).toBe(TIME);
  });

  test('and is rejected has failed, without conditions', () => {
    manager.reject(pod, REJECTION, TIME);
    expect(manager.isFinal(uid)).toBe(true);
    expect(manager.get(uid)).toEqual({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: 'Pod was rejected: no cpu is left',
      qosClass: 'BestEffort',
      startTime: TIME,
    });
    manager.forget(uid);
    expect(manager.isFinal(uid)).toBe(false);
  });
});
