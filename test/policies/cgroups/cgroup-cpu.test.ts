import { expect, test } from '@jest/globals';
import {
  milliCPUToQuotaUs,
  milliCPUToShares,
  sharesToWeight,
  weightToShares,
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
  [102, 4],
  [256, 10],
  [512, 20],
  [1024, 39],
  [2048, 79],
  [4096, 157],
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

test.each([
  [1, 2],
  [4, 80],
  [39, 998],
  [100, 2597],
  [10_000, 262_144],
])('a weight of %d stands for %d shares', (weight, shares) => {
  expect(weightToShares(weight)).toBe(shares);
});
