/** Amounts of CPU in the units of the kernel's scheduler. */

const SHARES_MIN = 2;
const SHARES_MAX = 262_144;
const SHARES_PER_CPU = 1024n;
const MILLI_PER_CPU = 1000n;
const QUOTA_MIN_US = 1000;
const WEIGHT_MAX = 10_000;

/** A request as `cpu.shares` of cgroup v1. */
export function milliCPUToShares(milliCPU: bigint): number {
  const shares = Number((milliCPU * SHARES_PER_CPU) / MILLI_PER_CPU);
  return Math.min(SHARES_MAX, Math.max(SHARES_MIN, shares));
}

/** A limit as microseconds of CPU time in each period; 0 without a limit. */
export function milliCPUToQuotaUs(milliCPU: bigint, periodUs: number): number {
  if (milliCPU === 0n) return 0;
  return Math.max(QUOTA_MIN_US, Number((milliCPU * BigInt(periodUs)) / MILLI_PER_CPU));
}

/**
 * `cpu.weight` of cgroup v2 for shares, by the curve of runc 1.3.2, crun 1.23 and the kubelet 1.35. It is quadratic in the
 * logarithms, and maps 2 to 1, 1024 to 100 (the defaults of both versions) and 262144 to 10000.
 */
export function sharesToWeight(shares: number): number {
  if (shares <= SHARES_MIN) return 1;
  if (shares >= SHARES_MAX) return WEIGHT_MAX;
  const log = Math.log2(shares);
  return Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34));
}
