import type { Pod } from '../types/kubernetes.ts';

/** How it ended for a pod that was run once. */
export interface PodOutcome {
  /** `Deleted`: a person has deleted the pod on this node, and it is not started. */
  readonly result: 'Running' | 'Completed' | 'Deleted' | 'Rejected' | 'Failed' | 'Interrupted';
  readonly reason?: string;
  readonly message?: string;
  readonly failedContainers: readonly string[];
}

export interface PodResult extends PodOutcome {
  /** With its computed status, where there is one. */
  readonly pod: Pod;
  /** The runtime has a running sandbox or container of the pod. */
  readonly leftRunning: boolean;
}

export function isGood({ result }: PodOutcome): boolean {
  return result === 'Running' || result === 'Completed' || result === 'Deleted';
}
