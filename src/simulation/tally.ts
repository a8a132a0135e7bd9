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
  /** Pods that went because memory was short. */
  evicted: number;
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
    rejected: 0,
    deaths: 0,
    calls: 0,
    failures: 0,
  };
}
