/** Counts what has happened in a simulation: a simulation in which nothing happened proves nothing. */
export interface Tally {
  operations: number;
  podsEnded: number;
  /** Containers that were started. */
  starts: number;
  kills: number;
  /** Pods that were ended for a critical pod. */
  preempted: number;
  evicted: number;
  /** Of the evicted pods: because of short disks, of short process IDs, and of exceeded storage limits. */
  evictedForDisk: number;
  evictedForPIDs: number;
  evictedForLimits: number;
  /** Pods that eviction plugins have chosen. */
  chosenByPlugins: number;
  /** How often device plugins were asked for devices. */
  devicesAsked: number;
  /** Containers that were started with CPUs of their own. */
  pinned: number;
  /** How often CSI drivers have published volumes, and DRA drivers prepared claims. */
  volumesPublished: number;
  claimsPrepared: number;
  /** Pods that were not admitted. */
  rejected: number;
  agentsKilled: number;
  /** Calls to runtimes. */
  calls: number;
  /** Calls that failed, or were not answered properly. */
  failures: number;
  /** Requests to API servers. */
  requests: number;
}

export function newTally(): Tally {
  return {
    operations: 0,
    podsEnded: 0,
    starts: 0,
    kills: 0,
    preempted: 0,
    evicted: 0,
    evictedForDisk: 0,
    evictedForPIDs: 0,
    evictedForLimits: 0,
    chosenByPlugins: 0,
    devicesAsked: 0,
    pinned: 0,
    volumesPublished: 0,
    claimsPrepared: 0,
    rejected: 0,
    agentsKilled: 0,
    calls: 0,
    failures: 0,
    requests: 0,
  };
}

/** `signal`: of the resource that was short, or of the exceeded limit. */
export function countEviction(tally: Tally, signal: string): void {
  tally.evicted += 1;
  if (signal.endsWith('.limit')) tally.evictedForLimits += 1;
  else if (signal === 'pid.available') tally.evictedForPIDs += 1;
  else if (/^(?:node|image|container)fs\./.test(signal)) tally.evictedForDisk += 1;
}
