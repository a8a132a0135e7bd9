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
 * `cpu.weight` of cgroup v2 for shares, as the kubelet maps them: linearly, 2 to 1 and 262144 to 10000, so that a whole CPU is 39.
 * Runtimes may map the shares of containers by another curve; only the weights of groups beside each other are compared.
 */
export function sharesToWeight(shares: number): number {
  const above = Math.min(SHARES_MAX, Math.max(SHARES_MIN, shares)) - SHARES_MIN;
  return 1 + Math.trunc((above * (WEIGHT_MAX - 1)) / (SHARES_MAX - SHARES_MIN));
}

/** The shares that a `cpu.weight` stands for. */
export function weightToShares(weight: number): number {
  return SHARES_MIN + Math.trunc(((weight - 1) * (SHARES_MAX - SHARES_MIN)) / (WEIGHT_MAX - 1));
}
