import { describe, expect, test } from '@jest/globals';
import {
  admittedPodStatus,
  rejectedPodStatus,
  waitingPodStatus,
} from '../../../src/policies/admission/refused-pod-status.ts';
import { requestingPod } from '../../support/admission.ts';

const POD = requestingPod('web', { requests: { cpu: '1' } });
const REJECTION = { reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu" };
const AT = '2030-01-01T00:00:00Z';

describe('the status of a pod that has not been started', () => {
  test('that was rejected has failed, with a start time and the words of the kubelet', () => {
    expect(rejectedPodStatus(POD, REJECTION, AT)).toEqual({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: "Pod was rejected: Node didn't have enough resource: cpu",
      startTime: AT,
      qosClass: 'Burstable',
    });
  });

  test('that waits is Pending with the reason, and has no start time', () => {
    expect(waitingPodStatus(POD, REJECTION)).toEqual({
      phase: 'Pending',
      ...REJECTION,
      qosClass: 'Burstable',
    });
  });

  test('that was admitted after a wait is Pending without a reason', () => {
    expect(admittedPodStatus(POD)).toEqual({ phase: 'Pending', qosClass: 'Burstable' });
  });

  test('has the generation of its pod', () => {
    const pod = { ...POD, metadata: { ...POD.metadata, generation: 3 } };
    const statuses = [
      rejectedPodStatus(pod, REJECTION, AT),
      waitingPodStatus(pod, REJECTION),
      admittedPodStatus(pod),
    ];
    expect(statuses.map(({ observedGeneration }) => observedGeneration)).toEqual([3, 3, 3]);
  });
});
