import { expect, test } from '@jest/globals';
import {
  isPressureSignal,
  isResourceSignal,
  PRESSURE_CONDITIONS,
  pressureCondition,
  starvedResource,
} from '../../../../src/agent/policies/eviction/signals.ts';

test.each([
  ['memory.available', 'memory', 'MemoryPressure'],
  ['allocatableMemory.available', 'memory', 'MemoryPressure'],
  ['nodefs.available', 'ephemeral-storage', 'DiskPressure'],
  ['imagefs.inodesFree', 'inodes', 'DiskPressure'],
  ['pid.available', 'pids', 'PIDPressure'],
  ['memory.pressure.full.avg10', 'memory', 'MemoryPressure'],
  ['io.pressure.some.avg10', 'io', 'DiskPressure'],
])('%s is about %s, and leads to %s', (signal, resource, condition) => {
  expect([starvedResource(signal), pressureCondition(signal)]).toEqual([resource, condition]);
});

test('an unknown signal has no resource and no condition', () => {
  expect([starvedResource('cpu.available'), pressureCondition('toString')]).toEqual([undefined, undefined]);
});

test('signals of the kubelet and signals of pressure stall information are distinguished', () => {
  const signals = ['memory.available', 'memory.pressure.some.avg10', 'memory.pressure.some.avg60'];
  expect(signals.map(isResourceSignal)).toEqual([true, false, false]);
  expect(signals.map(isPressureSignal)).toEqual([false, true, false]);
});

test('conditions are listed in the order of a node status', () => {
  expect(PRESSURE_CONDITIONS).toEqual(['MemoryPressure', 'DiskPressure', 'PIDPressure']);
});
