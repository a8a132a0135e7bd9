import { expect, test } from '@jest/globals';
import { admitPod, admitRunningPod } from '../../../src/policies/admission/admit-pod.ts';
import { NOTHING_HELD } from '../../../src/policies/admission/held-resources.ts';
import { invalidPodRejection } from '../../../src/policies/pod/invalid-pod.ts';
import { testNode } from '../../support/admission.ts';
import { testPod } from '../../support/pods.ts';

const MESSAGE = 'spec.containers: must have at least 1 item';
const broken = {
  ...testPod({ annotations: { 'statelet.dev/invalid': MESSAGE } }),
  spec: { containers: [] },
};

test('a pod that the source could not use is rejected with what is wrong', () => {
  expect(invalidPodRejection(broken)).toEqual({ reason: 'FailedValidation', message: MESSAGE });
});

test('it is not admitted, and where it ran before the agent started it ends', () => {
  expect(admitPod(testNode(), broken, NOTHING_HELD)).toEqual({
    kind: 'rejected',
    reason: 'FailedValidation',
    message: MESSAGE,
  });
  expect(admitRunningPod(testNode(), broken)).toMatchObject({ reason: 'FailedValidation' });
});

test('a pod that holds is not rejected', () => {
  expect(invalidPodRejection(testPod())).toBeUndefined();
});
