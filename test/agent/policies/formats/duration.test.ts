import { describe, expect, test } from '@jest/globals';
import {
  goDuration,
  humanDuration,
  MAX_DURATION_MS,
  parseDuration,
  shortDuration,
} from '../../../../src/agent/policies/formats/duration.ts';

describe('durations of settings', () => {
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
    '"%s" is no duration',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  test.each([0, 1, 250, 20_000, 60_000, 90_000, 3_600_000, 5_400_001, MAX_DURATION_MS])(
    '%d ms is read back from its spelling',
    (ms) => {
      expect(parseDuration(shortDuration(ms))).toBe(ms);
    },
  );

  test('are written without units that are zero', () => {
    expect([60_000, 90_000, 3_600_000, 0].map(shortDuration)).toEqual(['1m', '1m30s', '1h', '0s']);
  });
});

test('the longest duration of a setting is one that a timer of Node can wait', () => {
  expect(MAX_DURATION_MS).toBeLessThan(2 ** 31);
});

describe("durations in the kubelet's messages", () => {
  test.each([
    [0, '0s'],
    [250, '250ms'],
    [1500, '1.5s'],
    [10_000, '10s'],
    [80_000, '1m20s'],
    [300_000, '5m0s'],
    [3_600_000, '1h0m0s'],
    [90_061_000, '25h1m1s'],
  ])('%d ms are written as Go writes them: %s', (ms, want) => {
    expect(goDuration(ms)).toBe(want);
  });
});

describe('ages in tables', () => {
  const minute = 60_000;
  const hour = 60 * minute;
  const day = 24 * hour;
  const cases: [number, string][] = [
    [-5000, '<invalid>'],
    [Number.NaN, '<invalid>'],
    [-900, '0s'],
    [0, '0s'],
    [119_999, '119s'],
    [2 * minute, '2m'],
    [3 * minute + 20_000, '3m20s'],
    [10 * minute + 20_000, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [5 * hour + 7 * minute, '5h7m'],
    [9 * hour + 7 * minute, '9h'],
    [2 * day + 3 * hour, '2d3h'],
    [9 * day + 3 * hour, '9d'],
    [2 * 365 * day + 4 * day, '2y4d'],
    [9 * 365 * day + 4 * day, '9y'],
  ];
  test.each(cases)('%d ms are written as kubectl writes them: %s', (ms, want) => {
    expect(humanDuration(ms)).toBe(want);
  });
});
