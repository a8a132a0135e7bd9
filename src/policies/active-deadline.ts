/** A pod may be active for `spec.activeDeadlineSeconds` from its start on, and no longer. */
import type { Pod, PodStatus } from '../types/kubernetes.ts';
import type { PodStatusOverride } from './pod-termination.ts';
import { unixMs } from './time.ts';

/** The kubelet's words for a pod that has had its time. */
export const DEADLINE_EXCEEDED: PodStatusOverride = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/** Unix milliseconds; undefined where there is no deadline, or the pod has not started. */
export function activeDeadline({ spec }: Pod, status: PodStatus | undefined): number | undefined {
  if (spec.activeDeadlineSeconds == null || status?.startTime === undefined) return undefined;
  return unixMs(status.startTime) + spec.activeDeadlineSeconds * 1000;
}
