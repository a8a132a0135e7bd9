const NS_PER_MS = 1_000_000n;

/** The same moment on both clocks. */
let anchorWall = 0n;
let anchorSteady = 0n;

/**
 * Unix time in nanoseconds. The system clock gives Node milliseconds only; the digits below come from the monotonic
 * clock. When the two differ by a millisecond (the system clock was set or adjusted), the monotonic clock is aligned
 * again.
 */
export function nowNs(): bigint {
  const steady = process.hrtime.bigint();
  const wall = BigInt(Date.now()) * NS_PER_MS;
  const now = anchorWall + (steady - anchorSteady);
  if (now >= wall && now < wall + NS_PER_MS) return now;
  anchorWall = wall;
  anchorSteady = steady;
  return wall;
}

/** `2026-01-31T12:00:00.123456789Z` */
export function rfc3339Nano(ns: bigint): string {
  const toMs = new Date(Number(ns / NS_PER_MS)).toISOString().slice(0, -1);
  return `${toMs}${String(ns % NS_PER_MS).padStart(6, '0')}Z`;
}
