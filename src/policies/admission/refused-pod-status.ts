/** Statuses of pods that have not been started, with the reason. They list no containers, because none was created. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { Rejection } from './rejection.ts';
import { podQOS } from '../pod/qos.ts';

/** The pod was rejected for good, at `startTime` (RFC 3339). As with the kubelet, the status has no conditions. */
export function rejectedPodStatus(pod: Pod, { reason, message }: Rejection, startTime: string): PodStatus {
  return {
    ...commonFields(pod),
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
    startTime,
  };
}

/** The pod waits until the node has resources for it. It has no start time, so its deadline has not begun. */
export function waitingPodStatus(pod: Pod, { reason, message }: Rejection): PodStatus {
  return { ...commonFields(pod), phase: 'Pending', reason, message };
}

/** The pod has been admitted after it waited, and begins as any other pod. */
export function admittedPodStatus(pod: Pod): PodStatus {
  return { ...commonFields(pod), phase: 'Pending' };
}

function commonFields(pod: Pod): PodStatus {
  const { generation } = pod.metadata;
  return { ...(generation !== undefined && { observedGeneration: generation }), qosClass: podQOS(pod) };
}
