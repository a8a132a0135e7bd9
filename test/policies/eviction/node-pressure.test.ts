import { expect, test } from '@jest/globals';
import {
  nodePressure,
  nodePressureEventReason,
  nodePressureTaint,
} from '../../../src/policies/eviction/node-pressure.ts';
import { PRESSURE_CONDITIONS } from '../../../src/policies/eviction/signals.ts';

test('a condition has the words of the kubelet, whether it holds or not', () => {
  expect(nodePressure('MemoryPressure', true)).toEqual({
    type: 'MemoryPressure',
    status: 'True',
    reason: 'KubeletHasInsufficientMemory',
    message: 'kubelet has insufficient memory available',
  });
  expect(nodePressure('DiskPressure', false)).toEqual({
    type: 'DiskPressure',
    status: 'False',
    reason: 'KubeletHasNoDiskPressure',
    message: 'kubelet has no disk pressure',
  });
});

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

test('the taint keeps new pods away', () => {
  expect(nodePressureTaint('PIDPressure')).toEqual({
    key: 'node.kubernetes.io/pid-pressure',
    effect: 'NoSchedule',
  });
});
