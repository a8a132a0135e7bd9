import { describe, expect, test } from '@jest/globals';
import type { MissingResource } from '../../../../src/agent/policies/admission/rejection.ts';
import {
  missingAfter,
  chooseNearest,
  distanceFrom,
  type PreemptionCandidate,
  preemptionCandidates,
  selectVictims,
  smallerRequest,
  smallerRequestThenPriority,
} from '../../../../src/agent/policies/preemption/victims.ts';
import { seededRandom, type SeededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { type Amounts, requestingPod } from '../../../support/admission.ts';
import { plainVictims } from '../../../support/preemption-reference.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('preemption');

const MIB = 2 ** 20;
const CRITICAL = requestingPod('critical', { critical: true });

const burstable = (name: string, requests: Amounts, priority?: number) =>
  requestingPod(name, { requests, ...(priority !== undefined && { priority }) });
const guaranteed = (name: string, amounts: Amounts) =>
  requestingPod(name, { requests: amounts, limits: amounts });
const memory = (mebibytes: number): MissingResource => ({ resource: 'memory', amount: mebibytes * MIB });
const cpu = (amount: number): MissingResource => ({ resource: 'cpu', amount });

const decide = (pods: readonly Pod[], missing: readonly MissingResource[], lowerPriorityFirst = false) =>
  selectVictims({ preemptor: CRITICAL, pods, missing, lowerPriorityFirst });
const victims = (...args: Parameters<typeof decide>) =>
  decide(...args).victims.map(({ candidate }) => candidate.name);

describe('the victims', () => {
  const small = burstable('small', { memory: '100Mi' });
  const large = burstable('large', { memory: '900Mi' });
  const insured = guaranteed('insured', { memory: '500Mi', cpu: '1' });

  test('are none if nothing is missing', () => {
    expect(victims([small, large], [])).toEqual([]);
  });

  test('are one pod that frees enough rather than several pods', () => {
    expect(victims([small, small, large], [memory(200)])).toEqual(['large']);
  });

  test('are the smallest of the pods that free enough', () => {
    expect(victims([large, small, insured], [memory(50)])).toEqual(['small']);
  });

  test('are the nearest pod first, then the nearest to what is still missing', () => {
    const middle = burstable('middle', { memory: '300Mi' });
    expect(victims([small, middle, large], [memory(1000)])).toEqual(['large', 'small']);
  });

  test('include a Guaranteed pod only for what the others cannot free, even if it is the nearest', () => {
    expect(victims([insured, small, large], [memory(500)])).toEqual(['large']);
    expect(victims([insured, small, large], [memory(1001)])).toEqual(['large', 'insured']);
  });

  test('are a BestEffort pod if only the number of pods is exceeded', () => {
    const bestEffort = requestingPod('besteffort');
    expect(victims([small, bestEffort, insured], [{ resource: 'pods', amount: 1 }])).toEqual(['besteffort']);
  });

  test('come in the order BestEffort, Burstable, Guaranteed', () => {
    const pods = [insured, large, requestingPod('besteffort')];
    expect(victims(pods, [{ resource: 'pods', amount: 3 }])).toEqual(['besteffort', 'large', 'insured']);
  });

  test('depend on every missing resource alike, however large its amounts are', () => {
    const nearestOf = (mebibytes: number, milliCPU: number) => {
      const pods = [
        burstable('memory', { memory: `${mebibytes}Mi` }),
        burstable('cpu', { cpu: `${milliCPU}m` }),
        burstable('both', { memory: '290Mi', cpu: '290m' }),
      ];
      const { candidates } = decide(pods, [memory(1000), cpu(1000)]);
      return candidates.toSorted((a, b) => a.distance - b.distance)[0]!.name;
    };
    expect(nearestOf(700, 600)).toBe('both');
    expect(nearestOf(990, 980)).toBe('memory');
    expect(nearestOf(980, 990)).toBe('cpu');
  });

  test('are never pods that the preemptor may not preempt', () => {
    const alsoCritical = requestingPod('also', { critical: true, requests: { memory: '1Gi' } });
    expect(victims([alsoCritical, large], [memory(1)])).toEqual(['large']);
    expect(decide([alsoCritical], [memory(1)]).candidates).toEqual([]);
  });
});

describe('of candidates with the same distance', () => {
  const twins = ['a', 'b', 'c', 'd'].map((name, index) => burstable(name, { memory: '100Mi' }, index % 2));

  test('the one with less memory is chosen, then the one with less CPU', () => {
    const pods = [
      burstable('more', { 'ephemeral-storage': '1Gi', memory: '2Mi', cpu: '1m' }),
      burstable('less', { 'ephemeral-storage': '1Gi', memory: '1Mi', cpu: '2m' }),
      burstable('most', { 'ephemeral-storage': '1Gi', memory: '2Mi', cpu: '2m' }),
    ];
    const missing = [{ resource: 'ephemeral-storage', amount: 3 * 1024 * MIB }];
    expect(victims(pods, missing)).toEqual(['less', 'more', 'most']);
  });

  test('the last one is chosen, and the last of the others takes its place, as in the kubelet', () => {
    expect(victims(twins, [memory(400)])).toEqual(['d', 'c', 'b', 'a']);
    const unlike = [burstable('z', { memory: '300Mi' }), ...twins];
    expect(victims([...unlike.slice(1), unlike[0]!], [memory(500)])).toEqual(['z', 'd', 'c']);
    expect(victims(unlike, [memory(500)])).toEqual(['z', 'c', 'b']);
  });

  test('lower priority is chosen first if the setting says so', () => {
    expect(victims(twins, [memory(300)], true)).toEqual(['c', 'a', 'b']);
  });

  test('a pod without priority has priority 0', () => {
    const pods = [burstable('none', { memory: '1Mi' }), burstable('below', { memory: '1Mi' }, -1)];
    expect(victims(pods, [memory(1)], true)).toEqual(['below']);
    expect(victims([...pods, burstable('one', { memory: '1Mi' }, 1)], [memory(2)], true)).toEqual([
      'below',
      'none',
    ]);
  });

  test('priority does not make up for a larger request', () => {
    const pods = [burstable('low', { memory: '101Mi' }, 0), burstable('high', { memory: '100Mi' }, 9)];
    expect(victims(pods, [memory(100)], true)).toEqual(['high']);
  });
});

describe('the decision', () => {
  test('lists every candidate with its distance, and every victim with what was missing when it was chosen', () => {
    const pods = [
      burstable('half', { memory: '50Mi' }, 3),
      burstable('nine tenths', { memory: '90Mi', cpu: '100m' }),
    ];
    const { candidates, victims: chosen, missing, unmet } = decide(pods, [memory(100), cpu(50)]);
    expect(missing).toEqual([memory(100), cpu(50)]);
    expect(candidates[0]).toEqual({
      name: 'half',
      namespace: 'default',
      uid: 'half',
      qosClass: 'Burstable',
      priority: 3,
      frees: [50 * MIB, 0],
      memoryBytes: 50 * MIB,
      milliCPU: 0,
      distance: 1.25,
    });
    expect(candidates[1]!.distance).toBeCloseTo(0.01);
    expect(chosen.map(({ candidate, ...rest }) => ({ name: candidate.name, ...rest }))).toEqual([
      { name: 'nine tenths', missing: [memory(100), cpu(50)], distance: candidates[1]!.distance },
      { name: 'half', missing: [memory(10)], distance: 0 },
    ]);
    expect(unmet).toEqual([]);
  });

  test('has no victims if all candidates are not enough, and lists what would still be missing', () => {
    const pods = [burstable('a', { memory: '50Mi', cpu: '1' }), burstable('b', { memory: '50Mi' })];
    const decision = decide(pods, [memory(101), cpu(1000)]);
    expect([decision.victims, decision.unmet]).toEqual([[], [memory(1)]]);
    expect(decision.candidates).toHaveLength(2);
  });
});

test('does not change its input', () => {
  const pods = Object.freeze(['a', 'b', 'c'].map((name) => burstable(name, { memory: '1Mi' })));
  expect(victims(pods, Object.freeze([memory(2)]))).toEqual(['c', 'b']);
});

function randomPods(random: SeededRandom): Pod[] {
  const some = (amounts: readonly string[]) => random.pick([...amounts, undefined]);
  return Array.from({ length: random.integer(0, 60) }, (_, index) => {
    const [memory, cpu] = [some(['0', '100Mi', '200Mi', '300Mi']), some(['0', '100m', '200m', '300m'])];
    const storage = some(['0', '1Gi', '2Gi']);
    const requests = {
      ...(memory && { memory }),
      ...(cpu && { cpu }),
      ...(storage && { 'ephemeral-storage': storage }),
    };
    const limits = { memory: '400Mi', cpu: '400m' };
    const insured = random.next() < 0.25 && { requests: { ...requests, ...limits }, limits };
    return requestingPod(`pod-${index}`, { requests, ...insured, priority: random.integer(0, 2) });
  });
}

test('equals the simple reference implementation on random nodes', () => {
  let found = 0;
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed);
    const pods = randomPods(random);
    const missing = [
      memory(random.integer(1, 3000)),
      cpu(random.integer(1, 3000)),
      { resource: 'pods', amount: random.integer(1, 9) },
    ];
    const plain = plainVictims(CRITICAL, pods, missing)?.map(({ metadata }) => metadata.name);
    expect({ seed, victims: victims(pods, missing) }).toEqual({ seed, victims: plain ?? [] });
    expect(decide(pods, missing).unmet.length > 0).toBe(plain === undefined);
    if (plain !== undefined) found += 1;
  }
  expect(found).toBeGreaterThan(50);
});

describe('candidates of a preemption', () => {
  test('are the pods that the preemptor may preempt, in their order', () => {
    const pods = [requestingPod('b'), requestingPod('other', { critical: true }), requestingPod('a')];
    const candidates = preemptionCandidates(CRITICAL, pods, []);
    expect(candidates.map(({ name, priority }) => [name, priority])).toEqual([
      ['b', 0],
      ['a', 0],
    ]);
  });

  test('carry what their end frees of each missing resource, and their size', () => {
    const pod = requestingPod('a', { requests: { cpu: '500m', memory: '1Ki' }, priority: 5 });
    const missing = [
      { resource: 'memory', amount: 2048 },
      { resource: 'pods', amount: 1 },
    ];
    expect(preemptionCandidates(CRITICAL, [pod], missing)).toEqual([
      {
        name: 'a',
        namespace: 'default',
        uid: 'a',
        qosClass: 'Burstable',
        priority: 5,
        frees: [1024, 1],
        memoryBytes: 1024,
        milliCPU: 500,
        distance: 0.25,
      },
    ]);
  });
});

describe('the distance of a pod', () => {
  test('is 0 when its end frees all that is missing', () => {
    expect(distanceFrom([100, 50], [100, 60])).toBe(0);
  });

  test('is the sum of the squares of the fractions that stay missing', () => {
    expect(distanceFrom([100, 200], [50, 0])).toBe(0.25 + 1);
  });

  test('does not count what is not missing', () => {
    expect(distanceFrom([0, -5], [0, 0])).toBe(0);
  });
});

/** One missing resource, memory. */
function candidate(
  name: string,
  memoryBytes: number,
  more: Partial<PreemptionCandidate> = {},
): PreemptionCandidate {
  return {
    name,
    namespace: 'default',
    uid: name,
    qosClass: 'Burstable',
    priority: 0,
    frees: [memoryBytes],
    memoryBytes,
    milliCPU: 0,
    distance: 0,
    ...more,
  };
}

const chosen = (pods: readonly PreemptionCandidate[], missing: number, preference = smallerRequest) =>
  chooseNearest(pods, [missing], preference).map(({ candidate: { name } }) => name);

describe('the nearest candidates', () => {
  test('the smallest that frees enough is chosen alone', () => {
    expect(chosen([candidate('big', 90), candidate('fits', 50), candidate('small', 10)], 40)).toEqual([
      'fits',
    ]);
  });

  test('if none frees enough, the largest is chosen first', () => {
    expect(chosen([candidate('a', 10), candidate('b', 30), candidate('c', 20)], 45)).toEqual(['b', 'c']);
  });

  test('nothing is chosen when nothing is missing', () => {
    expect(chosen([candidate('a', 10)], 0)).toEqual([]);
  });

  test('all are chosen when they are not enough together', () => {
    expect(chosen([candidate('a', 10), candidate('b', 20)], 100)).toEqual(['b', 'a']);
  });

  test('each choice has what was missing before it, and its distance from that', () => {
    const choices = chooseNearest([candidate('a', 50), candidate('b', 25)], [100], smallerRequest);
    expect(choices.map(({ missing, distance }) => [missing, distance])).toEqual([
      [[100], 0.25],
      [[50], 0.25],
    ]);
  });

  test('of equal candidates the last is chosen, and the last of the others takes its place', () => {
    const pods = ['a', 'b', 'c'].map((name) => candidate(name, 10));
    expect(chosen(pods, 25)).toEqual(['c', 'b', 'a']);
    const withNearer = [candidate('near', 20), ...pods];
    expect(chosen(withNearer, 40)).toEqual(['near', 'b', 'a']);
  });
});

describe('preference among candidates of one distance', () => {
  test('less memory goes first, then less CPU', () => {
    expect(smallerRequest(candidate('a', 1, { milliCPU: 9 }), candidate('b', 2))).toBe(true);
    expect(smallerRequest(candidate('a', 2), candidate('b', 1))).toBe(false);
    expect(smallerRequest(candidate('a', 1, { milliCPU: 2 }), candidate('b', 1, { milliCPU: 1 }))).toBe(
      false,
    );
  });

  test('the priority counts only where it is asked for, and only between equal requests', () => {
    const [low, high] = [candidate('low', 1, { priority: 1 }), candidate('high', 1, { priority: 2 })];
    expect([smallerRequest(low, high), smallerRequest(high, low)]).toEqual([true, true]);
    expect(smallerRequestThenPriority(low, high)).toBe(true);
    expect(smallerRequestThenPriority(high, low)).toBe(false);
    expect(smallerRequestThenPriority({ ...high, memoryBytes: 0 }, low)).toBe(true);
  });
});

test('amounts may become negative when more is freed than is missing', () => {
  expect(
    missingAfter([10, 5], [candidate('a', 4, { frees: [4, 7] }), candidate('b', 1, { frees: [1] })]),
  ).toEqual([5, -2]);
});
