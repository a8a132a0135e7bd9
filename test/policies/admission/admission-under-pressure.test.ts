import { expect, test } from '@jest/globals';
import { pressureRejection } from '../../../src/policies/admission/admission-under-pressure.ts';
import { requestingPod } from '../../support/admission.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('evictionAdmit');

const MEMORY = ['MemoryPressure'];
const BEST_EFFORT = requestingPod('besteffort');
const BURSTABLE = requestingPod('burstable', { requests: { memory: '1Mi' } });

test('without pressure every pod is admitted, under pressure every critical pod', () => {
  expect(pressureRejection([], BEST_EFFORT)).toBeUndefined();
  const critical = requestingPod('critical', { critical: true });
  const fromFile = requestingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } });
  for (const pod of [critical, fromFile])
    expect(pressureRejection(['MemoryPressure', 'DiskPressure'], pod)).toBeUndefined();
});

test('under memory pressure alone, pods that request memory or tolerate the pressure are admitted', () => {
  expect(pressureRejection(MEMORY, BURSTABLE)).toBeUndefined();
  expect(pressureRejection(MEMORY, BEST_EFFORT)).toEqual({
    reason: 'Evicted',
    message: 'The node had condition: [MemoryPressure]. ',
  });
  const tolerations = [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }];
  expect(pressureRejection(MEMORY, requestingPod('tolerant', { tolerations }))).toBeUndefined();
});

test('under any other pressure, no pod is admitted that is not critical', () => {
  expect(pressureRejection(['DiskPressure', 'MemoryPressure'], BURSTABLE)?.message).toBe(
    'The node had condition: [DiskPressure MemoryPressure]. ',
  );
});
