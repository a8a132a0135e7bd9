import { expect, test } from '@jest/globals';
import {
  growthBegun,
  growthFailed,
  sizeToGrowTo,
} from '../../../../src/agent/policies/volumes/claim-growth.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../../src/types/kubernetes.ts';

const claim = (storage: string, state?: string) =>
  ({
    metadata: { resourceVersion: '1' },
    status: { capacity: { storage }, ...(state && { allocatedResourceStatuses: { storage: state } }) },
  }) as PersistentVolumeClaim;
const volume = { spec: { capacity: { storage: '2Gi' } } } as PersistentVolume;

test('a node grows a volume only when the controller has done its part, and none that cannot be grown', () => {
  expect(sizeToGrowTo(claim('1Gi', 'NodeResizePending'), volume)).toBe('2Gi');
  expect(sizeToGrowTo(claim('1Gi', 'NodeResizeInProgress'), volume)).toBe('2Gi');
  expect(sizeToGrowTo(claim('2048Mi', 'NodeResizePending'), volume)).toBeUndefined();
  for (const state of [undefined, 'ControllerResizeInProgress', 'NodeResizeInfeasible'])
    expect(sizeToGrowTo(claim('1Gi', state), volume)).toBeUndefined();
});

test('what the claim says already is not written again', () => {
  expect(growthBegun(claim('1Gi', 'NodeResizeInProgress'))).toBeUndefined();
});

test('what the driver says is cleaned and bounded in the claim', () => {
  const message = `no\nroom ${'x'.repeat(5_000)}`;
  const patch = growthFailed(claim('1Gi'), { kind: 'Internal', message, nowMs: 0 });
  const text = JSON.stringify(patch);
  expect(text).toContain('1970-01-01T00:00:00Z');
  expect(JSON.parse(text)).not.toHaveProperty('status.allocatedResourceStatuses');
  expect(text).toContain('failed to expand pvc with no room x');
  expect(text.length).toBeLessThan(2_000);
});
