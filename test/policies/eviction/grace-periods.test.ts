import { expect, test } from '@jest/globals';
import { gracePeriodMs, gracePeriods } from '../../../src/policies/eviction/grace-periods.ts';

test('grace periods are durations, by signal', () => {
  const periods = gracePeriods({ 'memory.available': '1m30s', 'nodefs.available': '0s' });
  expect([...periods]).toEqual([
    ['memory.available', 90_000],
    ['nodefs.available', 0],
  ]);
});

test('an unknown signal is refused', () => {
  expect(() => gracePeriods({ 'memory.free': '1m' })).toThrow('unsupported eviction signal memory.free');
});

test('a grace period that is no duration, or a negative one, is refused', () => {
  expect(() => gracePeriodMs('memory.available', 'soon')).toThrow(
    'eviction grace period of memory.available must be a duration such as "1m30s": "soon"',
  );
  expect(() => gracePeriodMs('memory.available', '-1s')).toThrow(
    'invalid eviction grace period specified: -1s, must be a positive value',
  );
});
