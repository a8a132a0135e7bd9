import { expect, test } from '@jest/globals';
import { chosenPods } from '../../../src/policies/eviction-plugins/chosen-pods.ts';
import { CollectedAnswers } from '../../../src/policies/eviction-plugins/collected-answers.ts';
import { leastImportant } from '../../../src/policies/eviction-plugins/candidate-order.ts';
import { qosLevel } from '../../../src/policies/eviction-plugins/qos-level.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const LEVEL = 'katalyst.kubewharf.io/qos_level';
const pod = (name: string, annotations: Record<string, string> = {}, priority?: number): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
  spec: { containers: [], ...(priority !== undefined && { priority }) },
});
const wanted = (target: Pod, forceEvict: boolean, gracePeriodSeconds?: number) => ({
  pod: target,
  reason: 'too much',
  forceEvict,
  ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
});
const names = (pods: readonly { readonly pod: Pod }[]) => pods.map(({ pod: { metadata } }) => metadata.name);

test('of the candidates only the least important goes, beside those that go in any case', () => {
  const answers = new CollectedAnswers([]);
  const reclaimed = pod('reclaimed', { [LEVEL]: 'reclaimed_cores' }, 1000);
  const evictPods = [wanted(pod('web'), false), wanted(reclaimed, false), wanted(pod('batch'), true)];
  answers.evictPods('numa', { evictPods });
  expect(names(chosenPods(answers).evictable)).toEqual(['batch', 'reclaimed']);
});

test('a candidate that goes in any case leaves the place to the next one', () => {
  const answers = new CollectedAnswers([]);
  answers.evictPods('numa', { evictPods: [wanted(pod('b'), false), wanted(pod('a'), false)] });
  answers.evictPods('rss', { evictPods: [wanted(pod('a'), true)] });
  const { best, evictable } = chosenPods(answers);
  expect(best?.pod.metadata.name).toBe('b');
  expect(names(evictable)).toEqual(['a', 'b']);
});

test('pods of the system, critical ones, and candidates that want to be told are passed over', () => {
  const answers = new CollectedAnswers([]);
  const spared = [
    pod('system', { [LEVEL]: 'system_cores' }),
    pod('critical', {}, 2_000_000_000),
    pod('static', { 'kubernetes.io/config.source': 'file' }),
  ];
  const notified = pod('notified', { 'katalyst.kubewharf.io/pod_soft_evict_notify': 'TRUE' });
  answers.evictPods('numa', {
    evictPods: [...spared.map((one) => wanted(one, true)), wanted(notified, false)],
  });
  expect(chosenPods(answers)).toEqual({ best: undefined, evictable: [] });
});

test('a plugin on trial ends no pod and sets no condition, but its threshold is counted', () => {
  const condition = { name: 'full', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true } as const;
  const answers = new CollectedAnswers(['*', '-rss']);
  answers.evictPods('numa', { evictPods: [wanted(pod('a'), true)], condition });
  const values = { scope: 'memory', thresholdValue: 1, observedValue: 2 };
  answers.topPods('numa', values, { targetPods: [pod('b')] });
  answers.topSoftPods('numa', values, { targetPods: [pod('b')] });
  const met = {
    ...values,
    metType: 'HARD_MET',
    gracePeriodSeconds: 0,
    candidatePods: [pod('b')],
    condition,
  } as const;
  answers.thresholdMet('numa', met);
  expect([answers.force.size, answers.soft.size, answers.conditions.size]).toEqual([0, 0, 0]);
  expect([...answers.thresholds.keys(), ...answers.candidates.keys()]).toEqual(['numa', 'uid-b']);
});

test('a pod that is chosen twice keeps the longer grace period, and both reasons', () => {
  const answers = new CollectedAnswers([]);
  answers.evictPods('rss', { evictPods: [wanted(pod('a'), true, 30)] });
  const values = { scope: 'memory', thresholdValue: 0.5, observedValue: 2_000_000 };
  answers.topPods('numa', values, { targetPods: [pod('a')], gracePeriodSeconds: 5 });
  expect(answers.force.get('uid-a')).toMatchObject({
    gracePeriodSeconds: 30,
    plugin: 'numa',
    reason: 'plugin numa met threshold in scope memory, target 0.5, observed 2e+06; too much',
  });
});

test('among equals the first name goes', () => {
  const candidates = ['b', 'a', 'c'].map((name) => ({ pod: pod(name), scope: 'soft' }));
  expect(leastImportant(candidates)?.pod.metadata.name).toBe('a');
  expect(leastImportant(candidates.slice(3))).toBeUndefined();
});

test('an unknown level is an error', () => {
  const odd = pod('odd', { [LEVEL]: 'golden' });
  const level = () => qosLevel(odd);
  expect(level).toThrow("can't get valid qos level");
});

test('where an answer has no grace period, each of its pods keeps its own; else a longer one is raised for all', () => {
  const values = { scope: 'memory', thresholdValue: 1, observedValue: 2 };
  const graces = (gracePeriodSeconds: number | undefined) => {
    const answers = new CollectedAnswers([]);
    answers.evictPods('rss', { evictPods: [wanted(pod('a'), true, 30), wanted(pod('b'), true)] });
    const targetPods = [pod('a'), pod('b'), pod('c')];
    answers.topPods('numa', values, {
      targetPods,
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    });
    return [...answers.force.values()].map((ruled) => ruled.gracePeriodSeconds);
  };
  expect(graces(undefined)).toEqual([30, undefined, undefined]);
  expect(graces(5)).toEqual([30, 30, 30]);
});
