import { expect, test } from '@jest/globals';
import { pressureRejection } from '../../../src/policies/admission/admission-under-pressure.ts';
import { requestingPod } from '../../support/admission.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('evictionAdmit');

const MEMORY = ['MemoryPressure'];
const BEST_EFFORT = requestingPod('besteffort');
const BURSTABLE = requestingPod('burstable', { requests: { memory: '1Mi' } });

test('without pressure everybody may come, under pressure critical pods may', () => {
  expect(pressureRejection([], BEST_EFFORT)).toBeUndefined();
  const critical = requestingPod('critical', { critical: true });
  const fromFile = requestingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } });
  for (const pod of [critical, fromFile])
    expect(pressureRejection(['MemoryPressure', 'DiskPressure'], pod)).toBeUndefined();
});

test('while only memory is short, who has requested his may come, and who tolerates the shortage', () => {
  expect(pressureRejection(MEMORY, BURSTABLE)).toBeUndefined();
  expect(pressureRejection(MEMORY, BEST_EFFORT)).toEqual({
    reason: 'Evicted',
    message: 'The node had condition: [MemoryPressure]. ',
  });
  const tolerations = [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }];
  expect(pressureRejection(MEMORY, requestingPod('tolerant', { tolerations }))).toBeUndefined();
});

test('while anything else is short, nobody may', () => {
  expect(pressureRejection(['DiskPressure', 'MemoryPressure'], BURSTABLE)?.message).toBe(
    'The node had condition: [DiskPressure MemoryPressure]. ',
  );
});
