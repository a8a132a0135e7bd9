/**
 * When to look again how much memory is left. What a look costs is waking up for it, about 0.2 ms: eight a second are less
 * than 0.3% of a core, so that closer looks are kept for memory that is seen to be going.
 */

/** A process that writes to fresh pages gets about 1.6 GiB of them a second, and several times that in huge pages. */
const FASTEST_FALL_PER_CPU = 8 * 2 ** 30;
/** What the memory of one machine takes, however many CPUs write to it. */
const FASTEST_FALL = 256 * 2 ** 30;
const MS_PER_SECOND = 1000;

const FARTHEST_MS = 1000;
/** Of a threshold that may be crossed at any moment, or is: whoever was told of it wants to know when it is over. */
const NEAR_MS = 125;
/** Of one that will be crossed soon if things go on like this. */
const CLOSEST_MS = 25;

export interface WatchedThreshold {
  readonly availableBytes: number;
  readonly thresholdBytes: number;
  /** How much less there has become in each millisecond since the last look; 0 or less: it has not. */
  readonly fallBytesPerMs: number;
}

/** What is farther away than that from its threshold is looked at as seldom as can be, if it is not going. */
export function farDistanceBytes(cpus: number): number {
  return fastestFallPerMs(cpus) * FARTHEST_MS;
}

function fastestFallPerMs(cpus: number): number {
  return Math.min(FASTEST_FALL, cpus * FASTEST_FALL_PER_CPU) / MS_PER_SECOND;
}

/** However fast memory goes: a crossing is seen at most `NEAR_MS` after it happened. */
export function memoryWatchPeriodMs(thresholds: readonly WatchedThreshold[], cpus: number): number {
  const fastest = fastestFallPerMs(cpus);
  return Math.min(FARTHEST_MS, ...thresholds.map((threshold) => periodMs(threshold, fastest)));
}

function periodMs(
  { availableBytes, thresholdBytes, fallBytesPerMs }: WatchedThreshold,
  fastestPerMs: number,
): number {
  const distance = availableBytes - thresholdBytes;
  if (distance < 0) return NEAR_MS;
  const safeMs = Math.max(NEAR_MS, Math.floor(distance / fastestPerMs));
  if (fallBytesPerMs <= 0) return safeMs;
  // Half of the way: what is going now may go faster yet.
  return Math.min(safeMs, Math.max(CLOSEST_MS, Math.floor(distance / fallBytesPerMs / 2)));
}
