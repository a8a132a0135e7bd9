/** Changes of the resources that pods ask for, while they run. */
import { drawnPodName, HOUR_MS, type PlannedChange, type PlannedFor, timesAtRate } from './planned-change.ts';
import type { SeededRandom } from './seeded-random.ts';

export interface ResizeChange {
  readonly kind: 'resize';
  /** Thousandths of a core. */
  readonly cpuMilli: number;
  readonly memoryMiB: number;
}

/** The average for each node. */
const VOLLEYS_PER_HOUR = 12;
/** The least that simulated pods request. */
const LEAST = { kind: 'resize', cpuMilli: 250, memoryMiB: 128 } as const;
/** Several come close together: the next one often meets one that is under way. */
const GAPS_MS = [50, 200, 3_000];

export function* resizeChanges(
  random: SeededRandom,
  { pods, hours }: PlannedFor,
): Generator<PlannedChange<ResizeChange>, undefined> {
  let lastMs = 0;
  for (const beganMs of timesAtRate(random, hours, VOLLEYS_PER_HOUR)) {
    const name = drawnPodName(random, pods);
    let atMs = Math.max(lastMs, beganMs);
    for (let times = random.integer(1, 3); times > 0; times--) {
      yield { atMs, name, change: drawn(random) };
      lastMs = atMs;
      atMs += random.pick(GAPS_MS);
    }
  }
  // A last resize at the end: after it, only the agent itself makes waiting pods ask again.
  yield { atMs: Math.max(lastMs, hours * HOUR_MS - 1), name: drawnPodName(random, pods), change: LEAST };
}

/** As large as what pods request at first, so that some do not fit. */
function drawn(random: SeededRandom): ResizeChange {
  return { kind: 'resize', cpuMilli: 250 * random.integer(1, 8), memoryMiB: 128 * random.integer(1, 8) };
}
