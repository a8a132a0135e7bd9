import type { Pod, PodCondition } from '../../types/kubernetes.ts';

/** What a kill writes into the final status of a pod. It is data, not a function, so that tests can compare decisions. */
export interface PodStatusOverride {
  readonly phase?: 'Failed' | 'Succeeded';
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly PodCondition[];
}

/** How a pod is to be ended. Options of several kills accumulate (lifecycle 2, 4, 5). */
export interface KillPodOptions {
  readonly podTerminationGracePeriodSecondsOverride?: number;
  readonly evict?: boolean;
  readonly podStatus?: PodStatusOverride;
}

/** Grace period of a pod whose spec names none (the API server's default). */
const DEFAULT_GRACE_PERIOD_SECONDS = 30;

/** Grace period of a pod that only the runtime knows. */
export const RUNTIME_ONLY_GRACE_PERIOD_SECONDS = 1;

const MINIMUM_GRACE_PERIOD_SECONDS = 1;

/** Whether the pod's own object says that it must not run: it is being deleted, or its phase is terminal (lifecycle 3). */
export function isEnding(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp != null || isTerminalPhase(pod.status?.phase);
}

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

/**
 * The grace period of a stop, in seconds (lifecycle 4): the shortest of the period in force, the API server's deletion
 * grace period and the kill's override. The spec's own period counts only if none of these is given. At least 1 s.
 */
export function effectiveGracePeriodSeconds(
  current: number | undefined,
  pod: Pod | undefined,
  overrideSeconds?: number,
): number {
  const known = [current, pod?.metadata.deletionGracePeriodSeconds, overrideSeconds].filter(
    (seconds) => seconds != null,
  );
  const chosen =
    known.length > 0
      ? Math.min(...known)
      : (pod?.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_PERIOD_SECONDS);
  return Math.max(chosen, MINIMUM_GRACE_PERIOD_SECONDS);
}
