import { expect, test } from '@jest/globals';
import { equalStatuses } from '../../../src/policies/status-sync/equal-statuses.ts';
import type { ContainerStatus, PodCondition, PodStatus } from '../../../src/types/kubernetes.ts';

const READY: PodCondition = { type: 'Ready', status: 'True' };
const withConditions = (...conditions: PodCondition[]): PodStatus => ({ phase: 'Running', conditions });
const withMain = (more: Partial<ContainerStatus>): PodStatus => ({
  containerStatuses: [{ name: 'main', image: '', imageID: '', ready: true, restartCount: 0, ...more }],
});

test('conditions of others do not count, DisruptionTarget does', () => {
  const gate = { type: 'example.com/gate', status: 'True' };
  const disruption = { type: 'DisruptionTarget', status: 'True' };
  expect(equalStatuses(withConditions(READY), withConditions(gate, READY))).toBe(true);
  expect(equalStatuses(withConditions(READY), withConditions(disruption, READY))).toBe(false);
});

test('of a condition its status, reason and message count', () => {
  const { type } = READY;
  const other = { ...READY, lastTransitionTime: '2030-01-01T00:00:00Z', observedGeneration: 7, reason: '' };
  expect(equalStatuses(withConditions(READY), withConditions(other))).toBe(true);
  for (const changed of [
    { type, status: 'False' },
    { ...READY, reason: 'R' },
    { ...READY, message: 'M' },
  ])
    expect(equalStatuses(withConditions(READY), withConditions(changed))).toBe(false);
});

test('an amount is the same in any spelling', () => {
  const memory = (limit: string) => withMain({ resources: { limits: { memory: limit } } });
  expect(equalStatuses(memory('1Gi'), memory('1073741824'))).toBe(true);
  expect(equalStatuses(memory('1Gi'), memory('1G'))).toBe(false);
});

test('what the server adds to a status makes no difference', () => {
  const ours = withMain({ state: { running: {} } });
  const served = withMain({ state: { running: { startedAt: null as never } }, lastState: {} });
  expect(equalStatuses(ours, served)).toBe(true);
});

test('the statuses of resource claims do not count', () => {
  expect(equalStatuses({}, { resourceClaimStatuses: [{ name: 'gpu' }] })).toBe(true);
});
