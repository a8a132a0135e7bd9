import { describe, expect, test } from '@jest/globals';
import { distanceFrom, preemptionCandidates } from '../../../src/policies/preemption/candidates.ts';
import { requestingPod } from '../../support/admission.ts';

const CRITICAL = requestingPod('critical', { critical: true });

describe('candidates of a preemption', () => {
  test('are the pods that the preemptor may preempt, in their order', () => {
    const pods = [requestingPod('b'), requestingPod('other', { critical: true }), requestingPod('a')];
    expect(preemptionCandidates(CRITICAL, pods, []).map(({ name }) => name)).toEqual(['b', 'a']);
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
