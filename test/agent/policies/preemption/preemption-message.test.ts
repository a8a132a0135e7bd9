import { describe, expect, test } from '@jest/globals';
import {
  describePreemption,
  preemptionCounterResource,
  preemptionError,
} from '../../../../src/agent/policies/preemption/preemption-message.ts';
import { unexpectedAdmissionError } from '../../../../src/agent/policies/admission/rejection.ts';
import { selectVictims } from '../../../../src/agent/policies/preemption/victims.ts';
import { requestingPod } from '../../../support/admission.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('preemptionHandle');

const preemptor = requestingPod('critical', { critical: true });
const pods = [
  requestingPod('db', { requests: { cpu: '300m', memory: '1Gi' }, priority: 5 }),
  requestingPod('web', { requests: { cpu: '200m' } }),
];
const decide = (...missing: [string, number][]) =>
  selectVictims({
    preemptor,
    pods,
    lowerPriorityFirst: true,
    missing: missing.map(([resource, amount]) => ({ resource, amount })),
  });

describe('the decision in one line', () => {
  test('has what is missing, the number of candidates, and each victim with its distance', () => {
    expect(describePreemption(decide(['cpu', 400], ['pods', 1]))).toBe(
      'missing cpu=400m pods=1; among 2 candidates: default/db (Burstable, priority 5, distance 0.063), default/web (Burstable, priority 0, distance 0)',
    );
  });

  test('has what no candidate can free', () => {
    expect(describePreemption(decide(['cpu', 900], ['memory', 5]))).toBe(
      'missing cpu=900m memory=5; among 2 candidates nothing frees cpu=400m',
    );
  });

  test('says so if no pod has to end', () => {
    expect(describePreemption(decide())).toBe('missing nothing; among 2 candidates: no pod has to end');
    const alone = selectVictims({ preemptor, pods: [pods[0]!], missing: [], lowerPriorityFirst: true });
    expect(describePreemption(alone)).toContain('among 1 candidate:');
  });
});

test("a failed preemption is described in the kubelet's words", () => {
  const error = preemptionError(decide(['cpu', 900], ['memory', 2 ** 31]));
  expect(error).toBe(
    'preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 400), (res: memory, q: 1073741824), ]',
  );
  expect(unexpectedAdmissionError(error!)).toEqual({
    reason: 'UnexpectedAdmissionError',
    message: `Unexpected error while attempting to recover from admission failure: ${error!}`,
  });
  expect(preemptionError(decide(['cpu', 1]))).toBeUndefined();
});

test('victims are counted by the first resource that is missing', () => {
  expect(preemptionCounterResource(decide(['memory', 1], ['cpu', 1]))).toBe('memory');
  expect(preemptionCounterResource(decide())).toBe('');
});
