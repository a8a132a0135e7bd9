import { describe, expect, test } from '@jest/globals';
import {
  DOUBT_MEASUREMENTS_MAX,
  DOUBT_PERIOD_MS,
  isMemoryThreshold,
  MEASUREMENT_PERIOD_MS,
  showsMemoryShort,
} from '../../../src/policies/eviction/measurement-schedule.ts';
import { pressureThresholds } from '../../../src/policies/eviction/pressure-settings.ts';
import { thresholds } from '../../support/eviction.ts';

const [memory, disk] = ['memory.available', 'nodefs.available'].map(
  (signal) => thresholds({ evictionHard: { [signal]: '1Mi' } })[0]!,
);
const [stall] = pressureThresholds({
  evictionPSI: { 'memory.pressure.some.avg10': '20%' },
  evictionPSIGracePeriod: {},
});

test('the extra measurements of memory in doubt fit well within one measurement period', () => {
  expect(DOUBT_MEASUREMENTS_MAX * DOUBT_PERIOD_MS).toBeLessThan(MEASUREMENT_PERIOD_MS);
});

test('thresholds of available memory are memory thresholds; those of memory pressure and of disks are not', () => {
  expect([memory, disk, stall].map((threshold) => isMemoryThreshold(threshold!))).toEqual([
    true,
    false,
    false,
  ]);
  const both = thresholds({
    evictionHard: { 'memory.available': '1Mi' },
    enforceNodeAllocatable: ['pods'],
  });
  expect(both.map(({ signal }) => signal)).toEqual(['memory.available', 'allocatableMemory.available']);
  expect(both.every(isMemoryThreshold)).toBe(true);
});

describe('the figures show that memory is short', () => {
  test('if a memory threshold is met, also during its grace period', () => {
    expect(showsMemoryShort({ firstObserved: [{ threshold: memory!, sinceMs: 0 }] })).toBe(true);
  });

  test('not if only other thresholds are met, or none', () => {
    const others = [disk!, stall!].map((threshold) => ({ threshold, sinceMs: 0 }));
    expect(showsMemoryShort({ firstObserved: others })).toBe(false);
    expect(showsMemoryShort({ firstObserved: [] })).toBe(false);
  });
});
