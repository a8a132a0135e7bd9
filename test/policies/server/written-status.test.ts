import { expect, test } from '@jest/globals';
import { asGoWrites } from '../../../src/policies/server/written-status.ts';
import type { PodStatus } from '../../../src/types/kubernetes.ts';

test('conditions and containers have their empty members', () => {
  const running = { running: { startedAt: '2026-11-22T16:32:37Z' } };
  const status = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-11-22T16:32:37Z' }],
    containerStatuses: [{ name: 'main', state: running }],
    initContainerStatuses: [{ name: 'init', lastState: running }],
  } as unknown as PodStatus;
  expect(asGoWrites(status)).toEqual({
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-11-22T16:32:37Z' },
    ],
    containerStatuses: [{ name: 'main', state: running, lastState: {} }],
    initContainerStatuses: [{ name: 'init', state: {}, lastState: running }],
  });
});

test('a status without either stays as it is', () => {
  expect(asGoWrites({ phase: 'Pending' })).toEqual({ phase: 'Pending' });
});
