import { describe, expect, test } from '@jest/globals';
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../../src/policies/formats/duration.ts';

describe('Go durations', () => {
  test.each([
    ['0', 0],
    ['0s', 0],
    ['20s', 20_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['300ms', 300],
    ['5us', 0.005],
    ['5µs', 0.005],
    ['5μs', 0.005],
    ['1h2m3s4ms', 3_723_004],
    ['-1m', -60_000],
    ['+1m', 60_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBeCloseTo(ms, 9);
  });

  test.each(['', '5', '1.5', 's', '1 m', '1m ', '1d', '1m-30s', '--1s', '1e3s', 'P1D'])(
    '"%s" is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  test.each([0, 1, 250, 20_000, 60_000, 90_000, 3_600_000, 5_400_001, MAX_DURATION_MS])(
    '%d ms is read back from its spelling',
    (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms);
    },
  );

  test('are spelled without what is zero', () => {
    expect([60_000, 90_000, 3_600_000, 0].map(formatDuration)).toEqual(['1m', '1m30s', '1h', '0s']);
  });
});

test('the longest timer is one that Node accepts', () => {
  expect(MAX_DURATION_MS).toBeLessThan(2 ** 31);
});
