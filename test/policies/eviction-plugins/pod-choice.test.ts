import { describe, expect, test } from '@jest/globals';
import type { PluginAnswers } from '../../../src/policies/eviction-plugins/plugin-pass.ts';
import {
  type ChoiceFacts,
  choosePods,
  keptBecause,
  type PluginChoice,
} from '../../../src/policies/eviction-plugins/pod-choice.ts';
import type { EvictPod } from '../../../src/types/eviction/eviction-plugin.ts';
import { requestingPod } from '../../support/admission.ts';
import { met, wanted } from '../../support/eviction-plugins.ts';

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

test('pods that are to go in any case go in the order in which they were named, by the names of the plugins', () => {
  const choice = choose([answersOf('q', force(A)), answersOf('p', force(C), force(B))]);
  expect(names(choice.ending)).toEqual(['c', 'b', 'a']);
  expect(whys(choice)[0]).toBe('plugin p wants it gone in any case');
});

test('of the candidates the least important one goes, and the others say which one that is', () => {
  const important = requestingPod('important', { priority: 6 });
  const choice = choose([answersOf('p', soft(important), soft(A), soft(B))]);
  expect(names(choice.ending)).toEqual(['a']);
  expect(choice.candidates.map(({ ruled, why }) => `${ruled.pod.metadata.name}: ${why}`)).toEqual([
    'important: default/a is less important',
    'b: default/a is less important',
    'a: it is the least important one',
  ]);
});

test('a candidate that is to go in any case does not count among the candidates', () => {
  const choice = choose([answersOf('p', soft(A), soft(B)), answersOf('q', force(A))]);
  expect(names(choice.ending)).toEqual(['a', 'b']);
  expect(verdicts(choice)).toEqual({ a: 'Goes', b: 'Goes' });
});

test('no more than a burst go; the others are queued, and withdrawn when they are not named again', () => {
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

test('while the least important candidate is being ended, no other candidate goes', () => {
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

  test('does not stand for the candidates that may go', () => {
    expect(names(choose([answersOf('p', soft(system), soft(A))]).ending)).toEqual(['a']);
  });
});

test('a candidate that wants notice is told, and another one goes; in any case it goes as others do', () => {
  const choice = choose([answersOf('p', soft(SHY), soft(A))]);
  expect(names(choice.ending)).toEqual(['a']);
  expect(verdicts(choice)).toEqual({ shy: 'Notified', a: 'Goes' });
  expect(names(choose([answersOf('p', force(SHY))]).ending)).toEqual(['shy']);
});

test('what a plugin on trial names is told, and nothing is done about it', () => {
  const trial = { dryRun: ['p'], evictionBurst: 3 };
  const top = { ...answersOf('p', force(A), soft(B)), threshold: met(), topPods: { targetPods: [C] } };
  const choice = choose([top, answersOf('q', force(D))], { settings: trial });
  expect(names(choice.ending)).toEqual(['d']);
  expect(verdicts(choice)).toEqual({ d: 'Goes' });
  expect(names(choice.dryRun)).toEqual(['a', 'c', 'b']);
});

test('a pod for a threshold goes, with the reason', () => {
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
