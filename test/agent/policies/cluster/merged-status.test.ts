import { describe, expect, test } from '@jest/globals';
import { mergedStatus, type StatusMerge } from '../../../../src/agent/policies/cluster/merged-status.ts';
import type { PodCondition, PodStatus } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const NOW = '2030-01-01T01:00:00Z';
const BEFORE = '2030-01-01T00:00:00Z';
const READY: PodCondition = { type: 'Ready', status: 'True', lastTransitionTime: BEFORE };
const GATE: PodCondition = { type: 'example.com/gate', status: 'True' };
const DISRUPTION: PodCondition = { type: 'DisruptionTarget', status: 'True', lastTransitionTime: BEFORE };

function merged(served: PodStatus, status: PodStatus, more: Partial<StatusMerge> = {}): PodStatus {
  const merge = { pod: testPod(), served, status, couldHaveRunningContainers: false, now: NOW };
  return mergedStatus({ ...merge, ...more });
}

const types = ({ conditions = [] }: PodStatus) => conditions.map(({ type }) => type);

describe('conditions', () => {
  test('of others are those of the server, and come first', () => {
    const stale = { ...GATE, status: 'False' };
    expect(merged({ conditions: [READY, GATE] }, { conditions: [stale, READY] }).conditions).toEqual([
      GATE,
      READY,
    ]);
  });

  test('of the node that it does not have any more are gone', () => {
    expect(types(merged({ conditions: [{ type: 'PodScheduled', status: 'True' }, GATE] }, {}))).toEqual([
      GATE.type,
    ]);
  });
});

describe('a terminal phase', () => {
  const failed: PodStatus = {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'low on memory',
    podIP: '10.0.0.7',
  };

  test('waits, with reason and message, while something of the pod could run; the rest goes out', () => {
    const status = merged({ phase: 'Running' }, failed, { couldHaveRunningContainers: true });
    expect(status).toEqual({ phase: 'Running', podIP: '10.0.0.7', conditions: [] });
  });

  test('comes with the reason of the disruption, not before', () => {
    const ending = { ...failed, conditions: [DISRUPTION, READY] };
    const held = merged({ phase: 'Running' }, ending, { couldHaveRunningContainers: true });
    expect(types(held)).toEqual(['Ready']);
    const told = merged({ phase: 'Running' }, ending);
    expect(told.conditions).toContainEqual({ ...DISRUPTION, lastTransitionTime: NOW });
  });

  test('makes the pod not ready', () => {
    const conditions = [READY, { ...READY, type: 'ContainersReady' }];
    const status = merged({ phase: 'Running', conditions }, { phase: 'Succeeded', conditions });
    for (const condition of status.conditions ?? [])
      expect(condition).toMatchObject({ status: 'False', reason: 'PodCompleted', lastTransitionTime: NOW });
  });
});

test('the statuses of resource claims are those of the server', () => {
  const resourceClaimStatuses = [{ name: 'gpu', resourceClaimName: 'gpu-1' }];
  expect(merged({ resourceClaimStatuses }, {})).toEqual({ resourceClaimStatuses, conditions: [] });
  expect(merged({}, { resourceClaimStatuses })).toEqual({ conditions: [] });
});
