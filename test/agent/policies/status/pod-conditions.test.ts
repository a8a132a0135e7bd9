import { describe, expect, test } from '@jest/globals';
import {
  type ConditionFacts,
  containersReadyCondition,
  podConditions,
  podInitializedCondition,
  podReadyCondition,
} from '../../../../src/agent/policies/status/pod-conditions.ts';
import type { ContainerStatus, PodCondition } from '../../../../src/types/kubernetes.ts';
import { BEFORE, NOW, podOf, SANDBOX } from '../../../support/pod-status-facts.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { testVectors } from '../../../support/test-vectors.ts';

const RESTARTING_RULE = [
  { action: 'Restart', exitCodes: { operator: 'In', values: [1] } },
  { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } },
];

function factsOf(fields: Partial<ConditionFacts> = {}): ConditionFacts {
  return {
    pod: podOf(),
    podStatus: runtimePodStatus({ sandboxes: [SANDBOX] }),
    previous: undefined,
    phase: 'Running',
    containerStatuses: [],
    podRestarting: false,
    now: NOW,
    ...fields,
  };
}

const find = (facts: ConditionFacts, type: string): PodCondition | undefined =>
  podConditions(facts).find((condition) => condition.type === type);

test("the kubelet's own conditions come in its order", () => {
  expect(podConditions(factsOf()).map(({ type }) => type)).toEqual([
    'PodReadyToStartContainers',
    'Initialized',
    'Ready',
    'ContainersReady',
    'PodScheduled',
  ]);
});

test('PodReadyToStartContainers is True while the pod has a sandbox that can be used', () => {
  expect(find(factsOf(), 'PodReadyToStartContainers')?.status).toBe('True');
  const without = factsOf({ podStatus: runtimePodStatus({}) });
  expect(find(without, 'PodReadyToStartContainers')?.status).toBe('False');
});

describe('lastTransitionTime', () => {
  const previous = { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: BEFORE }] };
  const ready = { name: 'app', image: '', imageID: '', ready: true, restartCount: 0 };

  test('stays while the status of the condition stays', () => {
    const facts = factsOf({ previous, containerStatuses: [ready] });
    expect(find(facts, 'Ready')).toMatchObject({ status: 'True', lastTransitionTime: BEFORE });
  });

  test('is now when the status changes, or the condition is new', () => {
    const facts = factsOf({ previous, containerStatuses: [{ ...ready, ready: false }] });
    expect(find(facts, 'Ready')).toMatchObject({ status: 'False', lastTransitionTime: NOW });
    expect(find(facts, 'Initialized')?.lastTransitionTime).toBe(NOW);
  });
});

test('a generation of the pod is written on each condition that the kubelet sets', () => {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u-1', generation: 7 };
  const conditions = podConditions(factsOf({ pod: podOf({}, { metadata }) }));
  expect(conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([7, 7, 7, 7, 7]);
  expect(podConditions(factsOf())[0]).not.toHaveProperty('observedGeneration');
});

describe('AllContainersRestarting', () => {
  const pod = podOf({
    containers: [{ name: 'app', restartPolicy: 'Never', restartPolicyRules: RESTARTING_RULE }],
  });
  const podStatus = runtimePodStatus({
    sandboxes: [SANDBOX],
    containers: [{ id: 'a1', name: 'app', state: 'exited' }],
  });

  test('is missing from pods without a rule that restarts all containers', () => {
    expect(find(factsOf({ podRestarting: true, podStatus }), 'AllContainersRestarting')).toBeUndefined();
  });

  test('is True from such an exit until the last container has been removed', () => {
    expect(find(factsOf({ pod, podRestarting: true, podStatus }), 'AllContainersRestarting')).toMatchObject({
      status: 'True',
      reason: 'RestartAllContainersStarted',
    });
    expect(find(factsOf({ pod, podRestarting: true }), 'AllContainersRestarting')?.status).toBe('False');
    expect(find(factsOf({ pod, podStatus }), 'AllContainersRestarting')?.status).toBe('False');
  });

  test('is False with a reason once the pod has ended', () => {
    const facts = factsOf({ pod, podRestarting: true, podStatus, phase: 'Failed' });
    expect(find(facts, 'AllContainersRestarting')).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });
});

describe('conditions of others', () => {
  const gate = { type: 'example.com/lb', status: 'True', lastTransitionTime: BEFORE };

  test('are kept as they are, before the own ones', () => {
    const pod = podOf({}, { status: { conditions: [gate, { type: 'Ready', status: 'False' }] } });
    expect(podConditions(factsOf({ pod }))[0]).toEqual(gate);
    expect(podConditions(factsOf({ pod })).filter(({ type }) => type === 'Ready')).toHaveLength(1);
  });

  test('open the readiness gates of the pod', () => {
    const spec = { readinessGates: [{ conditionType: 'example.com/lb' }] };
    const ready = { name: 'app', image: '', imageID: '', ready: true, restartCount: 0 };
    const open = podOf(spec, { status: { conditions: [gate] } });
    expect(find(factsOf({ pod: open, containerStatuses: [ready] }), 'Ready')?.status).toBe('True');
    expect(find(factsOf({ pod: podOf(spec), containerStatuses: [ready] }), 'Ready')?.status).toBe('False');
  });

  test('a DisruptionTarget stays once it was reported', () => {
    const disrupted = { type: 'DisruptionTarget', status: 'True', lastTransitionTime: BEFORE };
    const facts = factsOf({ previous: { conditions: [disrupted] } });
    expect(find(facts, 'DisruptionTarget')).toEqual(disrupted);
  });

  test('a condition that a kill adds replaces one of its type', () => {
    const old = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'EvictionByEvictionAPI',
      lastTransitionTime: BEFORE,
    };
    const added = [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }];
    const facts = factsOf({ previous: { conditions: [old] }, added });
    expect(podConditions(facts).filter(({ type }) => type === 'DisruptionTarget')).toEqual([
      { ...added[0], lastTransitionTime: BEFORE },
    ]);
  });
});

testVectors('podReadyConditions');

function status(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: '', imageID: '', ready: true, restartCount: 0, ...more };
}

const APP = status('app');

const POD = podOf();

describe('ContainersReady', () => {
  test('is True when every regular container is ready', () => {
    expect(containersReadyCondition(POD, [APP], 'Running')).toEqual({
      type: 'ContainersReady',
      status: 'True',
    });
  });

  test('is False and names the containers that are unknown or not ready, sidecars included', () => {
    const pod = podOf({
      containers: [{ name: 'app' }, { name: 'web' }],
      initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }],
    });
    expect(containersReadyCondition(pod, [APP, status('proxy', { ready: false })], 'Running')).toEqual({
      type: 'ContainersReady',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unknown status: [web], containers with unready status: [proxy]',
    });
  });

  test.each([
    ['Succeeded', 'PodCompleted'],
    ['Failed', 'PodFailed'],
  ])('is False for a pod of phase %s, with the reason %s', (phase, reason) => {
    expect(containersReadyCondition(POD, [APP], phase)).toMatchObject({ status: 'False', reason });
  });

  test('is False where no statuses are known', () => {
    expect(containersReadyCondition(POD, undefined, 'Running')).toMatchObject({
      status: 'False',
      reason: 'UnknownContainerStatuses',
    });
  });
});

describe('Ready', () => {
  const gated = podOf({ readinessGates: [{ conditionType: 'example.com/lb' }] });

  test('is as ContainersReady where that is False', () => {
    const unready = status('app', { ready: false });
    expect(podReadyCondition(POD, [], [unready], 'Running')).toEqual({
      type: 'Ready',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [app]',
    });
  });

  test('is False while the condition of a readiness gate is missing', () => {
    expect(podReadyCondition(gated, [], [APP], 'Running')).toMatchObject({
      reason: 'ReadinessGatesNotReady',
      message: 'corresponding condition of pod readiness gate "example.com/lb" does not exist.',
    });
  });

  test('is False while the condition of a readiness gate is not True', () => {
    const conditions = [{ type: 'example.com/lb', status: 'Unknown' }];
    expect(podReadyCondition(gated, conditions, [APP], 'Running')).toMatchObject({
      status: 'False',
      message: 'the status of pod readiness gate "example.com/lb" is not "True", but Unknown',
    });
  });

  test('is True when every readiness gate is', () => {
    const conditions = [{ type: 'example.com/lb', status: 'True' }];
    expect(podReadyCondition(gated, conditions, [APP], 'Running')).toEqual({ type: 'Ready', status: 'True' });
  });
});

describe('Initialized', () => {
  const pod = podOf({ initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }] });
  const waiting = status('app', { ready: false, state: { waiting: {} } });
  const setup = status('setup');
  const proxy = status('proxy', { started: true });

  test('is True for a pod without init containers', () => {
    expect(podInitializedCondition(POD, [], undefined, 'Pending')).toEqual({
      type: 'Initialized',
      status: 'True',
    });
  });

  test('is True when init containers have succeeded and sidecars have started', () => {
    expect(podInitializedCondition(pod, [], [setup, proxy, waiting], 'Pending').status).toBe('True');
  });

  test('is False and names init containers that are unknown or incomplete', () => {
    const notStarted = status('proxy', { started: false });
    expect(podInitializedCondition(pod, [], [notStarted, waiting], 'Pending')).toEqual({
      type: 'Initialized',
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with unknown status: [setup], containers with incomplete status: [proxy]',
    });
  });

  test('stays True once it was', () => {
    const old = [{ type: 'Initialized', status: 'True' }];
    expect(podInitializedCondition(pod, old, [waiting], 'Running').status).toBe('True');
  });

  test.each([{ running: {} }, { terminated: { exitCode: 1 } }])(
    'is True once a regular container has started: %j',
    (state) => {
      expect(podInitializedCondition(pod, [], [status('app', { state })], 'Running').status).toBe('True');
    },
  );

  test('is True with the reason PodCompleted for a pod that has succeeded', () => {
    expect(podInitializedCondition(pod, [], [setup, proxy], 'Succeeded')).toMatchObject({
      status: 'True',
      reason: 'PodCompleted',
    });
  });
});
