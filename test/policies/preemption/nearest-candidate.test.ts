import { describe, expect, test } from '@jest/globals';
import type { PreemptionCandidate } from '../../../src/policies/preemption/candidates.ts';
import {
  amountsLess,
  chooseNearest,
  smallerRequest,
  smallerRequestThenPriority,
} from '../../../src/policies/preemption/nearest-candidate.ts';

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
    amountsLess([10, 5], [candidate('a', 4, { frees: [4, 7] }), candidate('b', 1, { frees: [1] })]),
  ).toEqual([5, -2]);
});
