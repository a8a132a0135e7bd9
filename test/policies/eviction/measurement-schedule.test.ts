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

test('memory in doubt is measured again well within the period', () => {
  expect(DOUBT_MEASUREMENTS_MAX * DOUBT_PERIOD_MS).toBeLessThan(MEASUREMENT_PERIOD_MS);
});

test('thresholds of memory that is left are watched as memory, those of waiting for memory and of disks are not', () => {
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
  test('when a threshold of memory is met, its grace period over or not', () => {
    expect(showsMemoryShort({ firstObserved: [{ threshold: memory!, sinceMs: 0 }] })).toBe(true);
  });

  test('not when only others are met, or none', () => {
    const others = [disk!, stall!].map((threshold) => ({ threshold, sinceMs: 0 }));
    expect(showsMemoryShort({ firstObserved: others })).toBe(false);
    expect(showsMemoryShort({ firstObserved: [] })).toBe(false);
  });
});
