import { describe, expect, test } from '@jest/globals';
import { sentEvictPods, sentThresholdMet, sentTopPods } from '../../src/eviction-plugin-kit/kit-answers.ts';
import type { EvictPodsAnswer, ThresholdMetAnswer } from '../../src/eviction-plugin-kit/plugin-api.ts';
import { testPod } from '../support/pods.ts';

const pods = [testPod({ name: 'a', annotations: { note: 'kept' } }), testPod({ name: 'b' })];
const [a, b] = pods as [(typeof pods)[0], (typeof pods)[0]];
/** What JavaScript lets through. */
const odd = (value: unknown) => value as EvictPodsAnswer & ThresholdMetAnswer;

describe('what is sent', () => {
  test('nothing answered: no pods, and no threshold', () => {
    expect(sentEvictPods(undefined, pods)).toEqual({ evictPods: [] });
    expect(sentEvictPods({}, pods)).toEqual({ evictPods: [] });
    expect(sentThresholdMet(undefined, pods)).toMatchObject({ metType: 'NOT_MET', candidatePods: [] });
    expect(sentTopPods(undefined, pods)).toEqual({ targetPods: [] });
  });

  test('pods are sent whole, as they were asked about, also where the answer only names them', () => {
    const named = { metadata: { uid: a.metadata.uid, name: 'a', namespace: 'default' } };
    const { evictPods } = sentEvictPods({ evictPods: [{ pod: named, reason: 'old' }] }, pods);
    expect(evictPods).toEqual([{ pod: a, reason: 'old', forceEvict: false, evictionPluginName: '' }]);
    expect(sentTopPods({ targetPods: [b, named] }, pods).targetPods).toEqual([b, a]);
    const threshold = { metType: 'HARD_MET', scope: 'memory', candidatePods: [named] } as const;
    expect(sentThresholdMet(threshold, pods).candidatePods).toEqual([a]);
  });

  test('a pod that was not in the question is sent with its name: the agent judges it', () => {
    const gone = { metadata: { uid: 'gone', name: 'x', namespace: 'default' } };
    expect(sentTopPods({ targetPods: [gone] }, pods).targetPods).toEqual([
      { ...gone, spec: { containers: [] } },
    ]);
  });

  test('a grace period of 0 is sent, and none leaves the pod its own', () => {
    const reason = '';
    const { evictPods } = sentEvictPods(
      {
        evictPods: [
          { pod: a, reason, gracePeriodSeconds: 0 },
          { pod: b, reason },
        ],
      },
      pods,
    );
    expect(evictPods.map(({ deletionOptions }) => deletionOptions)).toEqual([
      { gracePeriodSeconds: 0 },
      undefined,
    ]);
    expect(sentTopPods({ gracePeriodSeconds: 5 }, pods).deletionOptions).toEqual({ gracePeriodSeconds: 5 });
  });

  test('a threshold with its values, and a condition', () => {
    const condition = { name: 'Hot', effects: ['NoSchedule'], met: true };
    expect(
      sentThresholdMet(
        { metType: 'SOFT_MET', scope: 'heat', thresholdValue: 80, observedValue: 81.5, condition },
        pods,
      ),
    ).toEqual({
      metType: 'SOFT_MET',
      evictionScope: 'heat',
      thresholdValue: 80,
      observedValue: 81.5,
      thresholdOperator: 'GREATER_THAN',
      gracePeriodSeconds: 0,
      candidatePods: [],
      condition: {
        conditionName: 'Hot',
        conditionType: 'NODE_CONDITION',
        effects: ['NoSchedule'],
        metCondition: true,
      },
    });
  });
});

describe('what cannot be sent', () => {
  const pod = a;
  test.each<[string, unknown, string]>([
    ['a list in place of an object', [pod], 'the answer has to be an object, and is an array'],
    ['one pod in place of a list', { evictPods: { pod } }, 'evictPods has to be an array'],
    [
      'a pod without a reason',
      { evictPods: [{ pod }] },
      'evictPods[0].reason has to be a string, and is undefined',
    ],
    [
      'a reason without a pod',
      { evictPods: [{ reason: 'x' }] },
      'evictPods[0].pod has to be an object, and is undefined',
    ],
    [
      'the name of a pod',
      { evictPods: [{ pod: 'a', reason: 'x' }] },
      'evictPods[0].pod has to be an object, and is "a"',
    ],
    [
      'a pod without metadata',
      { evictPods: [{ pod: {}, reason: 'x' }] },
      'evictPods[0].pod.metadata has to be an object',
    ],
    [
      'a text for a flag',
      { evictPods: [{ pod, reason: 'x', forceEvict: 'yes' }] },
      'evictPods[0].forceEvict has to be true or false, and is "yes"',
    ],
    [
      'half a second',
      { evictPods: [{ pod, reason: 'x', gracePeriodSeconds: 0.5 }] },
      'evictPods[0].gracePeriodSeconds has to be a whole number of seconds, 0 or more, and is 0.5',
    ],
    ['a negative grace period', { evictPods: [{ pod, reason: 'x', gracePeriodSeconds: -1 }] }, 'and is -1'],
    [
      'a condition that may hold',
      { condition: { name: 'Hot', effects: [] } },
      'condition.met has to be true or false',
    ],
    [
      'effects as a text',
      { condition: { name: 'Hot', effects: 'NoSchedule', met: true } },
      'condition.effects has to be an array, and is "NoSchedule"',
    ],
  ])('of pods: %s', (_what, answer, message) => {
    expect(() => sentEvictPods(odd(answer), pods)).toThrow(message);
  });

  test.each<[string, unknown, string]>([
    ['no type', {}, 'metType has to be one of NOT_MET, SOFT_MET, HARD_MET, and is undefined'],
    ['another type', { metType: 'MET' }, 'and is "MET"'],
    [
      'a value as text',
      { metType: 'NOT_MET', observedValue: '5' },
      'observedValue has to be a number, and is "5"',
    ],
    ['met without a scope', { metType: 'HARD_MET' }, 'scope has to be given where the threshold is met'],
    ['another operator', { metType: 'NOT_MET', operator: 'EQUALS' }, 'operator has to be one of'],
  ])('of thresholds: %s', (_what, answer, message) => {
    expect(() => sentThresholdMet(odd(answer), pods)).toThrow(message);
  });
});
