import { describe, expect, test } from '@jest/globals';
import {
  CollectedAnswers,
  leastImportant,
} from '../../../../src/agent/policies/eviction-plugins/collected-answers.ts';
import type { PluginAnswers } from '../../../../src/agent/policies/eviction-plugins/plugin-pass.ts';
import {
  type ChoiceFacts,
  choosePods,
  chosenPods,
  EvictionQueue,
  keptBecause,
  type PluginChoice,
} from '../../../../src/agent/policies/eviction-plugins/pod-choice.ts';
import { qosLevel } from '../../../../src/agent/policies/eviction-plugins/qos-level.ts';
import type { EvictPod } from '../../../../src/types/eviction-plugin.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { requestingPod } from '../../../support/admission.ts';
import { met, wanted } from '../../../support/eviction-plugins.ts';

const QOS = 'katalyst.kubewharf.io/qos_level';
const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((name) => requestingPod(name, { priority: 5 })) as [
  ReturnType<typeof requestingPod>,
  ReturnType<typeof requestingPod>,
  ReturnType<typeof requestingPod>,
  ReturnType<typeof requestingPod>,
];
const ABCD = [A, B, C, D];
const SHY = requestingPod('shy', { annotations: { 'katalyst.kubewharf.io/pod_soft_evict_notify': 'true' } });

const answersOf = (plugin: string, ...evictPods: readonly EvictPod[]): PluginAnswers => ({
  plugin,
  evictPods: { evictPods },
  refused: [],
});

const choose = (answers: readonly PluginAnswers[], facts: Partial<ChoiceFacts> = {}) =>
  choosePods({
    answers,
    settings: { dryRun: [], evictionBurst: 3 },
    isUnderWay: () => false,
    isEnding: () => false,
    ...facts,
  });

const names = (pods: PluginChoice['ending']) => pods.map(({ pod }) => pod.metadata.name);
const verdicts = ({ candidates }: PluginChoice) =>
  Object.fromEntries(candidates.map(({ ruled, verdict }) => [ruled.pod.metadata.name, verdict]));
const whys = ({ candidates }: PluginChoice) => candidates.map(({ why }) => why);

const force = (pod = A) => wanted(pod);
const soft = (pod = A) => wanted(pod, { forceEvict: false });

test('pods to evict in any case are evicted in the order in which they were named, by the names of the plugins', () => {
  const choice = choose([answersOf('q', force(A)), answersOf('p', force(C), force(B))]);
  expect(names(choice.ending)).toEqual(['c', 'b', 'a']);
  expect(whys(choice)[0]).toBe('plugin p wants it gone in any case');
});

test('of the candidates the least important one is evicted, and the verdict of the others names it', () => {
  const important = requestingPod('important', { priority: 6 });
  const choice = choose([answersOf('p', soft(important), soft(A), soft(B))]);
  expect(names(choice.ending)).toEqual(['a']);
  expect(choice.candidates.map(({ ruled, why }) => `${ruled.pod.metadata.name}: ${why}`)).toEqual([
    'important: default/a is less important',
    'b: default/a is less important',
    'a: it is the least important one',
  ]);
});

test('a candidate that is to be evicted in any case does not count among the candidates', () => {
  const choice = choose([answersOf('p', soft(A), soft(B)), answersOf('q', force(A))]);
  expect(names(choice.ending)).toEqual(['a', 'b']);
  expect(verdicts(choice)).toEqual({ a: 'Goes', b: 'Goes' });
});

test('no more than a burst are evicted; the others are queued, and withdrawn when they are not named again', () => {
  const settings = { dryRun: [], evictionBurst: 2 };
  const choice = choose([answersOf('p', ...ABCD.map(force))], { settings });
  expect([names(choice.ending), names(choice.queued)]).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(whys(choice)[3]).toBe('plugin p wants it gone in any case; no more than 2 are ended in one pass');
  expect(names(choose([answersOf('p', force(D))], { settings }).queued)).toEqual([]);
});

test('a pod that is being ended takes no place in a burst', () => {
  const settings = { dryRun: [], evictionBurst: 2 };
  const isUnderWay = (uid: string) => uid === 'a';
  const choice = choose([answersOf('p', ...ABCD.map(force))], { settings, isUnderWay });
  expect([names(choice.underWay), names(choice.ending), names(choice.queued)]).toEqual([
    ['a'],
    ['b', 'c'],
    ['d'],
  ]);
  expect(verdicts(choice).a).toBe('BeingEnded');
});

test('while the least important candidate is being ended, no other candidate is evicted', () => {
  const choice = choose([answersOf('p', soft(A), soft(B))], { isUnderWay: (uid) => uid === 'a' });
  expect([names(choice.underWay), names(choice.ending)]).toEqual([['a'], []]);
});

test('a pod that has begun to end since it was named is left alone', () => {
  const choice = choose([answersOf('p', force(A), force(B))], { isEnding: (uid) => uid === 'a' });
  expect([names(choice.underWay), names(choice.ending)]).toEqual([[], ['b']]);
  expect(choice.candidates[0]).toMatchObject({ verdict: 'BeingEnded', why: 'it is ending, or has ended' });
});

describe('a pod that no plugin ends', () => {
  const critical = requestingPod('critical', { critical: true });
  const odd = requestingPod('odd', { critical: true, annotations: { [QOS]: 'nonsense' } });
  const system = requestingPod('system', { annotations: { [QOS]: 'system_cores' } });
  const fixed = requestingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } });
  const mirror = requestingPod('mirror', { annotations: { 'kubernetes.io/config.mirror': 'x' } });
  const kept = [
    [critical, 'it is critical'],
    [odd, 'it is critical'],
    [system, 'its QoS level is system_cores'],
    [fixed, 'it is a static pod'],
    [mirror, 'it is a static pod'],
  ] as const;

  test.each(kept)('$metadata.name stays: %s', (pod, why) => {
    expect(keptBecause(pod)).toBe(why);
    for (const kind of [force, soft]) {
      const choice = choose([answersOf('p', kind(pod))]);
      expect([choice.ending, choice.queued, choice.underWay]).toEqual([[], [], []]);
      expect(choice.candidates[0]).toMatchObject({ verdict: 'Stays', why: `${why}: no plugin ends it` });
    }
    const top = { ...answersOf('p'), threshold: met(), topPods: { targetPods: [pod] } };
    expect(choose([top]).ending).toEqual([]);
  });

  test('does not replace the candidates that may be evicted', () => {
    expect(names(choose([answersOf('p', soft(system), soft(A))]).ending)).toEqual(['a']);
  });
});

test('a candidate that asks for notices gets one, and another pod is evicted; a forced one is evicted like others', () => {
  const choice = choose([answersOf('p', soft(SHY), soft(A))]);
  expect(names(choice.ending)).toEqual(['a']);
  expect(verdicts(choice)).toEqual({ shy: 'Notified', a: 'Goes' });
  expect(names(choose([answersOf('p', force(SHY))]).ending)).toEqual(['shy']);
});

test('pods that a plugin in dry run names are reported, and not ended', () => {
  const trial = { dryRun: ['p'], evictionBurst: 3 };
  const top = { ...answersOf('p', force(A), soft(B)), threshold: met(), topPods: { targetPods: [C] } };
  const choice = choose([top, answersOf('q', force(D))], { settings: trial });
  expect(names(choice.ending)).toEqual(['d']);
  expect(verdicts(choice)).toEqual({ d: 'Goes' });
  expect(names(choice.dryRun)).toEqual(['a', 'c', 'b']);
});

test('a pod for a threshold is evicted, with the reason', () => {
  const top = { ...answersOf('p'), threshold: met(), topPods: { targetPods: [A], gracePeriodSeconds: 3 } };
  expect(choose([top]).ending).toMatchObject([
    {
      pod: A,
      scope: 'memory',
      gracePeriodSeconds: 3,
      reason: 'plugin p met threshold in scope memory, target 10, observed 20',
    },
  ]);
});

const LEVEL = 'katalyst.kubewharf.io/qos_level';

const pod = (name: string, annotations: Record<string, string> = {}, priority?: number): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
  spec: { containers: [], ...(priority !== undefined && { priority }) },
});

const asked = (target: Pod, forceEvict: boolean, gracePeriodSeconds?: number) => ({
  pod: target,
  reason: 'too much',
  forceEvict,
  ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
});

const chosenNames = (pods: readonly { readonly pod: Pod }[]) =>
  pods.map(({ pod: { metadata } }) => metadata.name);

test('of the candidates only the least important is evicted, beside those that are evicted in any case', () => {
  const answers = new CollectedAnswers([]);
  const reclaimed = pod('reclaimed', { [LEVEL]: 'reclaimed_cores' }, 1000);
  const evictPods = [asked(pod('web'), false), asked(reclaimed, false), asked(pod('batch'), true)];
  answers.evictPods('numa', { evictPods });
  expect(chosenNames(chosenPods(answers).evictable)).toEqual(['batch', 'reclaimed']);
});

test('a candidate that is evicted in any case makes room for the next one', () => {
  const answers = new CollectedAnswers([]);
  answers.evictPods('numa', { evictPods: [asked(pod('b'), false), asked(pod('a'), false)] });
  answers.evictPods('rss', { evictPods: [asked(pod('a'), true)] });
  const { best, evictable } = chosenPods(answers);
  expect(best?.pod.metadata.name).toBe('b');
  expect(chosenNames(evictable)).toEqual(['a', 'b']);
});

test('pods of the system, critical ones, and candidates that ask for notices are passed over', () => {
  const answers = new CollectedAnswers([]);
  const spared = [
    pod('system', { [LEVEL]: 'system_cores' }),
    pod('critical', {}, 2_000_000_000),
    pod('static', { 'kubernetes.io/config.source': 'file' }),
  ];
  const notified = pod('notified', { 'katalyst.kubewharf.io/pod_soft_evict_notify': 'TRUE' });
  answers.evictPods('numa', {
    evictPods: [...spared.map((one) => asked(one, true)), asked(notified, false)],
  });
  expect(chosenPods(answers)).toEqual({ best: undefined, evictable: [] });
});

test('a plugin in dry run ends no pod and sets no condition, but its threshold is counted', () => {
  const condition = { name: 'full', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true } as const;
  const answers = new CollectedAnswers(['*', '-rss']);
  answers.evictPods('numa', { evictPods: [asked(pod('a'), true)], condition });
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
  answers.evictPods('rss', { evictPods: [asked(pod('a'), true, 30)] });
  const values = { scope: 'memory', thresholdValue: 0.5, observedValue: 2_000_000 };
  answers.topPods('numa', values, { targetPods: [pod('a')], gracePeriodSeconds: 5 });
  expect(answers.force.get('uid-a')).toMatchObject({
    gracePeriodSeconds: 30,
    plugin: 'numa',
    reason: 'plugin numa met threshold in scope memory, target 0.5, observed 2e+06; too much',
  });
});

test('of equal pods the first by name is evicted', () => {
  const candidates = ['b', 'a', 'c'].map((name) => ({ pod: pod(name), scope: 'soft' }));
  expect(leastImportant(candidates)?.pod.metadata.name).toBe('a');
  expect(leastImportant(candidates.slice(3))).toBeUndefined();
});

test('an unknown level is an error', () => {
  const odd = pod('odd', { [LEVEL]: 'golden' });
  const level = () => qosLevel(odd);
  expect(level).toThrow("can't get valid qos level");
});

test('if an answer has no grace period, each of its pods keeps its own; else the longer one of the two counts for all', () => {
  const values = { scope: 'memory', thresholdValue: 1, observedValue: 2 };
  const graces = (gracePeriodSeconds: number | undefined) => {
    const answers = new CollectedAnswers([]);
    answers.evictPods('rss', { evictPods: [asked(pod('a'), true, 30), asked(pod('b'), true)] });
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

const pods = (...uids: string[]) => uids.map((uid) => ({ uid }));

test('pods are taken in the order of their arrival, as many as the burst allows', () => {
  const queue = new EvictionQueue<{ uid: string }>(2);
  queue.add(pods('a', 'b', 'a', 'c'));
  expect(queue.take()).toEqual(pods('a', 'b'));
  expect(queue.take()).toEqual(pods('c'));
  expect(queue.take()).toEqual([]);
});

test('a new list withdraws pods that were queued and not taken', () => {
  const queue = new EvictionQueue<{ uid: string }>(-1);
  queue.add(pods('a', 'b', 'c'));
  queue.replace(pods('d', 'b'));
  queue.withdraw(['d', 'unknown']);
  expect(queue.take()).toEqual(pods('b'));
});

test('with a burst of 0 nothing is taken', () => {
  const queue = new EvictionQueue<{ uid: string }>(0);
  queue.add(pods('a'));
  expect(queue.take()).toEqual([]);
  expect(queue.entries).toEqual(pods('a'));
});
