import { describe, expect, test } from '@jest/globals';
import {
  checkedEvictPods,
  checkedThreshold,
  checkedTopPods,
  type KnownPod,
} from '../../../../src/agent/policies/eviction-plugins/answer-checks.ts';
import type { NamedPod, PluginCondition, ThresholdMetAnswer } from '../../../../src/types/eviction-plugin.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { requestingPod } from '../../../support/admission.ts';
import { condition, met, named, NOT_MET, wanted } from '../../../support/eviction-plugins.ts';

const A = requestingPod('a');
const LOCAL = requestingPod('local', { annotations: { 'kubernetes.io/config.source': 'local' } });
const STATIC = requestingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } });
const MIRROR = requestingPod('mirror', { annotations: { 'kubernetes.io/config.mirror': 'hash' } });
const ENDING = requestingPod('ending');
const SKIPPED = requestingPod('skipped');

const known = new Map<string, KnownPod>(
  [A, LOCAL, STATIC, MIRROR, ENDING, SKIPPED].map((pod) => [
    pod.metadata.uid,
    { pod, isEnding: pod === ENDING, isSkipped: pod === SKIPPED },
  ]),
);
const NODE = { nodeName: 'node1', find: (uid: string) => known.get(uid) };

const evict = (pod: NamedPod, more = {}) => checkedEvictPods({ evictPods: [wanted(pod, more)] }, NODE);

describe('a pod that a plugin names', () => {
  test.each([A, LOCAL])('is found by its UID: $metadata.name', (pod) => {
    const { answer, refused } = evict(named(pod, 'node1'), { gracePeriodSeconds: 0 });
    expect(answer?.evictPods).toEqual([wanted(pod, { gracePeriodSeconds: 0 })]);
    expect(answer?.evictPods[0]?.pod).toBe(pod);
    expect(refused).toEqual([]);
  });

  const refusals: readonly (readonly [what: string, NamedPod, RegExp])[] = [
    ['of another node', named(A, 'node2'), /^pod default\/a \(UID a\) is one of node node2$/],
    ['of an unknown UID', { ...named(A), uid: 'x' }, /^pod default\/a \(UID x\) is not on this node$/],
    ['without a UID', { ...named(A), uid: '' }, /\(UID missing\) is not on this node$/],
    ['of another name', { ...named(A), name: 'b' }, /has another name here: default\/a$/],
    ['of another namespace', { ...named(A), namespace: 'x' }, /^pod x\/a .* has another name here/],
    ['that is static', named(STATIC), /is a static pod: it is never ended for a plugin$/],
    ['that is a mirror pod', named(MIRROR), /is a static pod/],
    ['that is ending', named(ENDING), /is ending already$/],
    ['that was not shown to it', named(SKIPPED), /was not shown to plugins/],
  ];
  test.each(refusals)('%s is refused', (_, pod, sentence) => {
    const { answer, refused } = evict(pod);
    expect(answer?.evictPods).toEqual([]);
    expect(refused).toEqual([expect.stringMatching(sentence)]);
    const top = checkedTopPods({ targetPods: [pod] }, 1, NODE);
    expect(top).toEqual({ answer: { targetPods: [] }, refused: [expect.stringMatching(sentence)] });
  });

  test.each([-1, NaN, 1.5, Infinity, 2 ** 60])(
    'with a grace period of %d is refused',
    (gracePeriodSeconds) => {
      const { answer, refused } = evict(named(A), { gracePeriodSeconds });
      expect(answer?.evictPods).toEqual([]);
      expect(refused).toEqual([expect.stringContaining('a grace period is a whole number of seconds')]);
    },
  );

  test('with too many others, all of which are refused, does not fill the log', () => {
    const strangers = Array.from({ length: 25 }, (_, index) => wanted({ ...named(A), uid: `x${index}` }));
    const { refused } = checkedEvictPods({ evictPods: strangers }, NODE);
    expect([refused.length, refused.at(-1)]).toEqual([11, 'and 15 more']);
  });

  test('does not affect the other pods of the answer', () => {
    const { answer } = checkedEvictPods({ evictPods: [wanted(named(STATIC)), wanted(named(A))] }, NODE);
    expect(answer?.evictPods.map(({ pod }) => pod)).toEqual([A]);
  });
});

describe('a condition', () => {
  const ofCondition = (name: string, more = {}) =>
    checkedEvictPods({ evictPods: [], condition: condition(name, more) }, NODE);

  test.each([['NoSchedule'], ['PreferNoSchedule', 'NoExecute'], []])(
    'may have the effects %j',
    (...effects) => {
      const { answer, refused } = ofCondition('Hot', { effects });
      expect(answer?.condition).toEqual(condition('Hot', { effects }));
      expect(refused).toEqual([]);
    },
  );

  test('with an unknown effect is refused', () => {
    const { answer, refused } = ofCondition('Hot', { effects: ['NoSchedule', 'Never'] });
    expect(answer).toEqual({ evictPods: [] });
    expect(refused).toEqual(['condition "Hot": "Never" is none of NoSchedule, PreferNoSchedule, NoExecute']);
  });

  test.each(['', 'a/b', 'a b', '-a', 'x'.repeat(64)])('named "%s" is refused', (name) => {
    expect(ofCondition(name).answer?.condition).toBeUndefined();
    expect(ofCondition(name).refused).toEqual([expect.stringContaining('cannot be the name of a taint')]);
  });

  test('that is not met is ignored', () => {
    const { answer, refused } = ofCondition('', { met: false, effects: ['Never'] });
    expect(answer).toEqual({ evictPods: [] });
    expect(refused).toEqual([]);
  });
});

describe('a threshold', () => {
  test('is taken with its candidates and its condition', () => {
    const answer = met<NamedPod>({ candidatePods: [named(A)], condition: condition('Hot') });
    expect(checkedThreshold(answer, NODE)).toEqual({
      answer: met<Pod>({ candidatePods: [A], condition: condition('Hot') }),
      refused: [],
    });
  });

  test('may have static pods among its candidates: they are left alone', () => {
    const { answer, refused } = checkedThreshold(met({ candidatePods: [named(STATIC)] }), NODE);
    expect(answer?.candidatePods).toEqual([STATIC]);
    expect(refused).toEqual([]);
  });

  const bad: readonly (readonly [Partial<ThresholdMetAnswer<NamedPod>>, string])[] = [
    [{ scope: '' }, 'it names no scope'],
    [{ thresholdValue: NaN }, 'a value is not a number'],
    [{ observedValue: NaN }, 'a value is not a number'],
    [{ observedValue: '7' as unknown as number }, 'a value is not a number'],
    [{ gracePeriodSeconds: -1 }, 'a grace period is a whole number'],
  ];
  test.each(bad)('%j is refused', (more, problem) => {
    expect(checkedThreshold(met(more), NODE)).toEqual({
      answer: undefined,
      refused: [expect.stringContaining(`its threshold: ${problem}`)],
    });
  });

  test('that is not met may have any values', () => {
    const answer = { ...NOT_MET, observedValue: NaN, gracePeriodSeconds: -1 };
    expect(checkedThreshold(answer, NODE)).toEqual({ answer, refused: [] });
  });
});

describe('texts of a plugin', () => {
  const LONG = 'x'.repeat(1_000_000);

  test('as a reason are shown in one line, without control characters for a terminal, and are cut', () => {
    const reasons = ['two\nlines\u001b[2J', LONG].map((reason) => wanted(named(A), { reason }));
    const { answer } = checkedEvictPods({ evictPods: reasons }, NODE);
    const [first, second] = answer?.evictPods.map(({ reason }) => reason) ?? [];
    expect(first).toBe('two lines\\u001b[2J');
    expect(second).toBe(`${'x'.repeat(800)}…`);
  });

  test('that name an unknown pod are shown in one line, too', () => {
    const odd = { namespace: 'a\nb', name: '\u202ename', uid: LONG, nodeName: '' };
    const { refused } = checkedEvictPods({ evictPods: [wanted(odd)] }, NODE);
    expect(refused).toEqual([`pod a b/\\u202ename (UID ${'x'.repeat(253)}…) is not on this node`]);
    const elsewhere = { ...named(A), nodeName: `node\u0007${LONG}` };
    expect(checkedEvictPods({ evictPods: [wanted(elsewhere)] }, NODE).refused[0]).toContain(
      'is one of node node\\u0007xxx',
    );
  });

  test.each(['a\u001bb', 'a\nb', LONG])(
    'as a scope are sent back to the plugin, and must be printable',
    (scope) => {
      expect(checkedThreshold(met({ scope }), NODE).refused).toEqual([
        'its threshold: its scope cannot be shown, or has more than 253 characters',
      ]);
    },
  );

  test('as effects of a CNR condition may name their QoS level', () => {
    const effects = ['reclaimed_cores/NoSchedule'];
    const all = (more: Partial<PluginCondition>) =>
      checkedEvictPods({ evictPods: [], condition: condition('Hot', { effects, ...more }) }, NODE);
    expect(all({ type: 'CNR_CONDITION' }).refused).toEqual([]);
    expect(all({}).refused).toHaveLength(1);
    expect(all({ type: 'CNR_CONDITION', effects: ['shared_cores/NoSchedule'] }).refused).toHaveLength(1);
  });

  test('as a condition are refused if they are long, and an effect counts once', () => {
    const all = (condition: PluginCondition) => checkedEvictPods({ evictPods: [], condition }, NODE);
    const [refusal = ''] = all(condition(LONG)).refused;
    expect(refusal.length).toBeLessThan(400);
    const { answer } = all(condition('Hot', { effects: ['NoSchedule', 'NoSchedule'] }));
    expect(answer?.condition?.effects).toEqual(['NoSchedule']);
  });
});

describe('the pods for a threshold', () => {
  test('are as many as the plugin returns if it was asked for candidates', () => {
    const { answer, refused } = checkedTopPods({ targetPods: [named(A), named(LOCAL)] }, 0, NODE);
    expect([answer?.targetPods, refused]).toEqual([[A, LOCAL], []]);
  });

  test('are no more than were requested', () => {
    const { answer, refused } = checkedTopPods({ targetPods: [named(A), named(LOCAL)] }, 1, NODE);
    expect(answer?.targetPods).toEqual([A]);
    expect(refused).toEqual(['it names 2 pods where 1 is asked for: only the first counts']);
  });

  test('keep their grace period', () => {
    const answer = { targetPods: [named(A)], gracePeriodSeconds: 7 };
    expect(checkedTopPods(answer, 1, NODE).answer).toEqual({ targetPods: [A], gracePeriodSeconds: 7 });
  });

  test('are refused with an invalid grace period', () => {
    const answer = { targetPods: [named(A)], gracePeriodSeconds: -7 };
    expect(checkedTopPods(answer, 1, NODE)).toEqual({
      answer: undefined,
      refused: [expect.stringContaining('(got -7)')],
    });
  });
});
