/** A pod may be active for `spec.activeDeadlineSeconds` from its start on, and no longer. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { isTerminalPhase, type PodStatusOverride } from './pod-termination.ts';
import { unixMs } from '../formats/time.ts';

/** The kubelet's words for a pod that has had its time. */
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
 * Whether a pod whose deadline has passed did not keep it. One that had come to its end before did, although it may be an agent
 * of a later time that sees it; `status` is what there would be to say of the pod without a deadline.
 */
export function hasExceededDeadline(pod: Pod, status: PodStatus, { containers }: RuntimePodStatus): boolean {
  if (!isTerminalPhase(status.phase)) return true;
  const ended = containers.filter(({ state }) => state === 'exited').map(({ finishedAt }) => finishedAt);
  return ended.length > 0 && isPastDeadline(pod, status, Math.max(...ended));
}
