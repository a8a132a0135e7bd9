import { expect, test } from '@jest/globals';
import {
  conditionsLastObserved,
  conditionsObservedSince,
  nodeConditions,
  nodePressureEventReason,
} from '../../../../src/agent/policies/eviction/node-pressure.ts';
import { PRESSURE_CONDITIONS } from '../../../../src/agent/policies/eviction/signals.ts';
import { thresholds } from '../../../support/eviction.ts';

test('the event on the node has the reason of the kubelet', () => {
  const reasons = PRESSURE_CONDITIONS.map((condition) =>
    [true, false].map((holds) => nodePressureEventReason(condition, holds)),
  );
  expect(reasons).toEqual([
    ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
    ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
    ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
  ]);
});

test('each condition is listed once, however many thresholds lead to it', () => {
  const met = thresholds({
    evictionHard: { 'nodefs.available': '1%', 'pid.available': '1%', 'imagefs.inodesFree': '1%' },
  });
  expect(nodeConditions(met)).toEqual(['DiskPressure', 'PIDPressure']);
});

test('a condition lasts for the transition period after its pressure; new pressure starts the period again', () => {
  let times = conditionsLastObserved(['MemoryPressure'], new Map(), 0);
  const holds = (nowMs: number) => conditionsObservedSince(times, 300_000, nowMs);
  expect([holds(0), holds(299_999), holds(300_000)]).toEqual([['MemoryPressure'], ['MemoryPressure'], []]);
  times = conditionsLastObserved(['MemoryPressure'], times, 200_000);
  expect([holds(499_999), holds(500_000)]).toEqual([['MemoryPressure'], []]);
});

test('each has its own transition period', () => {
  const times = new Map([
    ['PIDPressure' as const, 100_000],
    ['MemoryPressure' as const, 0],
  ]);
  expect(conditionsObservedSince(times, 300_000, 100_000)).toEqual(['MemoryPressure', 'PIDPressure']);
  expect(conditionsObservedSince(times, 300_000, 350_000)).toEqual(['PIDPressure']);
});
