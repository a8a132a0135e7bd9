import { describe, expect, test } from '@jest/globals';
import { memoryFacts, memorySettingsWithoutEffect } from '../../../../src/agent/policies/cri/memory-facts.ts';
import type { MemorySettings } from '../../../../src/types/node-settings.ts';

const SETTINGS: MemorySettings = {
  singleProcessOOMKill: undefined,
  swapBehavior: '',
  memoryQoS: false,
  memoryThrottlingFactor: 0.8,
  memoryReservationPolicy: 'None',
};
const machine = (cgroupVersion: 1 | 2) => ({
  cgroupVersion,
  pageSizeBytes: 4096,
  allocatable: { memory: '2Gi' },
});

describe('on cgroup v2', () => {
  test('the feature MemoryQoS knows what all pods may use, and the size of pages', () => {
    const qos = {
      throttlingFactor: 0.8,
      reservationPolicy: 'None',
      allocatableBytes: 2 ** 31,
      pageSizeBytes: 4096,
    };
    expect(memoryFacts({ ...SETTINGS, memoryQoS: true }, machine(2))).toMatchObject({ memoryQoS: qos });
    expect(memoryFacts(SETTINGS, machine(2))).not.toHaveProperty('memoryQoS');
  });

  test.each([true, false])('singleProcessOOMKill may be %s', (singleProcessOOMKill) => {
    expect(memoryFacts({ ...SETTINGS, singleProcessOOMKill }, machine(2))).toMatchObject({
      singleProcessOOMKill,
    });
  });

  test('every setting has its effect', () => {
    const all: MemorySettings = { ...SETTINGS, swapBehavior: 'LimitedSwap', memoryQoS: true };
    expect(memorySettingsWithoutEffect(all, 2)).toEqual([]);
  });
});

describe('on cgroup v1', () => {
  test('singleProcessOOMKill false is refused, and true is what the kernel does', () => {
    expect(() => memoryFacts({ ...SETTINGS, singleProcessOOMKill: false }, machine(1))).toThrow(
      'singleProcessOOMKill: must not be false on this machine: with cgroup v1 the kernel kills one process at a time',
    );
    expect(memoryFacts({ ...SETTINGS, singleProcessOOMKill: true }, machine(1))).toMatchObject({
      singleProcessOOMKill: true,
    });
  });

  test('LimitedSwap and MemoryQoS have no effect, which a sentence says of each', () => {
    const all: MemorySettings = { ...SETTINGS, swapBehavior: 'LimitedSwap', memoryQoS: true };
    expect(memoryFacts(all, machine(1))).not.toHaveProperty('memoryQoS');
    expect(memorySettingsWithoutEffect(all, 1)).toEqual([
      'memorySwap.swapBehavior: LimitedSwap needs cgroup v2; on this machine, with cgroup v1, containers use no swap',
      'featureGates.MemoryQoS has no effect on this machine: it needs cgroup v2',
    ]);
    expect(memorySettingsWithoutEffect({ ...SETTINGS, swapBehavior: 'NoSwap' }, 1)).toEqual([]);
  });
});
