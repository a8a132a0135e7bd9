import { expect, test } from '@jest/globals';
import {
  milliCPUToQuotaUs,
  milliCPUToShares,
  sharesToWeight,
} from '../../../src/policies/cgroups/cgroup-cpu.ts';

test.each([
  [0n, 2],
  [1n, 2],
  [100n, 102],
  [999n, 1022],
  [1000n, 1024],
  [256_000n, 262_144],
  [1_000_000n, 262_144],
])('%d thousandths of a CPU are %d shares', (milliCPU, shares) => {
  expect(milliCPUToShares(milliCPU)).toBe(shares);
});

test.each([
  [0n, 100_000, 0],
  [1n, 100_000, 1000],
  [15n, 100_000, 1500],
  [250n, 100_000, 25_000],
  [2000n, 100_000, 200_000],
  [250n, 20_000, 5000],
])('a limit of %d thousandths in a period of %d us is a quota of %d us', (milliCPU, periodUs, quotaUs) => {
  expect(milliCPUToQuotaUs(milliCPU, periodUs)).toBe(quotaUs);
});

test.each([
  [0, 1],
  [2, 1],
  [102, 17],
  [1024, 100],
  [2048, 174],
  [262_144, 10_000],
  [300_000, 10_000],
])('%d shares are a weight of %d', (shares, weight) => {
  expect(sharesToWeight(shares)).toBe(weight);
});

test('a larger share never has a smaller weight', () => {
  let last = 0;
  for (let shares = 2; shares <= 262_144; shares += 61) {
    expect(sharesToWeight(shares)).toBeGreaterThanOrEqual(last);
    last = sharesToWeight(shares);
  }
});
