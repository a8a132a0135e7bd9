import { describe, expect, test } from '@jest/globals';
import { type ConditionFacts, podConditions } from '../../../src/policies/status/pod-conditions.ts';
import type { PodCondition } from '../../../src/types/kubernetes.ts';
import { BEFORE, NOW, podOf, SANDBOX } from '../../support/pod-status-facts.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';

const RESTARTING_RULE = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];

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
