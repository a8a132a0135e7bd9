import { describe, expect, test } from '@jest/globals';
import {
  DOUBT_MEASUREMENTS_MAX,
  DOUBT_PERIOD_MS,
  isMemoryThreshold,
  MEASUREMENT_PERIOD_MS,
  memoryWatchPeriodMs,
  showsMemoryShort,
} from '../../../../src/agent/policies/eviction/measurement-schedule.ts';
import { pressureThresholds } from '../../../../src/agent/policies/eviction/pressure-settings.ts';
import { thresholds } from '../../../support/eviction.ts';

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

const MIB = 2 ** 20;

const GIB = 2 ** 30;

const CPUS = 4;

const above = (distanceBytes: number, fallBytesPerMs = 0) => ({
  availableBytes: 100 * MIB + distanceBytes,
  thresholdBytes: 100 * MIB,
  fallBytesPerMs,
});

const period = (...thresholds: ReturnType<typeof above>[]) => memoryWatchPeriodMs(thresholds, CPUS);

describe('memory is read again', () => {
  test('every second if no threshold can be compared, as this may change', () => {
    expect(period()).toBe(1000);
  });

  test('far from a threshold: before it can be reached, and every second at least', () => {
    expect(period(above(16 * GIB))).toBe(500);
    expect(period(above(200 * GIB))).toBe(1000);
  });

  test('sooner on more CPUs, up to the bandwidth of memory', () => {
    const at = (cpus: number) => memoryWatchPeriodMs([above(64 * GIB)], cpus);
    expect([at(8), at(16), at(32), at(128)]).toEqual([1000, 500, 250, 250]);
  });

  test('near a threshold: eight times a second, however near it is', () => {
    expect([GIB, MIB, 0].map((distance) => period(above(distance)))).toEqual([125, 125, 125]);
  });

  test('while available memory falls: halfway to the threshold', () => {
    expect(period(above(200 * MIB, MIB))).toBe(100);
    expect(period(above(100 * MIB, MIB))).toBe(50);
    expect(period(above(10 * MIB, MIB))).toBe(25);
  });

  test('at the same interval if memory falls slowly or grows', () => {
    expect(period(above(GIB, MIB / 1000))).toBe(125);
    expect(period(above(10 * MIB, -MIB))).toBe(125);
  });

  test('below a threshold: often enough to detect the end of the shortage', () => {
    expect(period(above(-50 * MIB, 5 * MIB))).toBe(125);
  });

  test('by the nearest of several thresholds', () => {
    expect(period(above(16 * GIB), above(8 * GIB), above(200 * GIB))).toBe(250);
  });

  test('often enough to detect a crossing within 250 ms, however fast memory falls', () => {
    for (let distance = 0; distance < 40 * GIB; distance += 97 * MIB) {
      const fastestMs = distance / ((CPUS * 8 * GIB) / 1000);
      expect(period(above(distance)) - fastestMs).toBeLessThan(250);
    }
  });
});
