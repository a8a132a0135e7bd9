/** What has happened in a simulation, in numbers: one in which nothing happened proves nothing. */
export interface Tally {
  operations: number;
  /** Pods that came to their end. */
  lives: number;
  /** Containers that were started. */
  starts: number;
  kills: number;
  /** Pods that went for a critical one. */
  preempted: number;
  /** Pods that went for the node's sake. */
  evicted: number;
  /** Of these, those for which its disks, or its process IDs, were short, and those that exceeded limits of their storage. */
  evictedForDisk: number;
  evictedForPIDs: number;
  evictedForLimits: number;
  /** Pods that were not let in. */
  rejected: number;
  /** Agents that were killed. */
  deaths: number;
  /** Calls to runtimes, and how many of them were not answered well. */
  calls: number;
  failures: number;
}

export function newTally(): Tally {
  return {
    operations: 0,
    lives: 0,
    starts: 0,
    kills: 0,
    preempted: 0,
    evicted: 0,
    evictedForDisk: 0,
    evictedForPIDs: 0,
    evictedForLimits: 0,
    rejected: 0,
    deaths: 0,
    calls: 0,
    failures: 0,
  };
}

/** `signal`: that of what was short, or of the limit. */
export function countEviction(tally: Tally, signal: string): void {
  tally.evicted += 1;
  if (signal.endsWith('.limit')) tally.evictedForLimits += 1;
  else if (signal === 'pid.available') tally.evictedForPIDs += 1;
  else if (/^(?:node|image|container)fs\./.test(signal)) tally.evictedForDisk += 1;
}
