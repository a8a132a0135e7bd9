/** A pod may be active for at most `spec.activeDeadlineSeconds` from its start time on. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { isTerminalPhase, type PodStatusOverride } from './pod-termination.ts';
import { unixMs } from '../formats/time.ts';

/** The kubelet's words for a pod that has exceeded its deadline. */
export const DEADLINE_EXCEEDED = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const satisfies PodStatusOverride;

/** Unix milliseconds; undefined where there is no deadline, or the pod has not started. */
export function activeDeadline({ spec }: Pod, status: PodStatus | undefined): number | undefined {
  if (spec.activeDeadlineSeconds == null || status?.startTime === undefined) return undefined;
  return unixMs(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

/** Whether the pod's deadline, if it has one, has passed. */
export function isPastDeadline(pod: Pod, status: PodStatus | undefined, nowMs: number): boolean {
  const deadline = activeDeadline(pod, status);
  return deadline !== undefined && deadline <= nowMs;
}

/**
 * Whether a pod whose deadline has passed ran beyond it. A pod whose containers ended in time has not, even if an agent sees
 * their end only later. `status` is the status that the pod would have without a deadline.
 */
export function hasExceededDeadline(pod: Pod, status: PodStatus, { containers }: RuntimePodStatus): boolean {
  if (!isTerminalPhase(status.phase)) return true;
  const ended = containers.filter(({ state }) => state === 'exited').map(({ finishedAt }) => finishedAt);
  return ended.length > 0 && isPastDeadline(pod, status, Math.max(...ended));
}
