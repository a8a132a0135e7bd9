/** Statuses of pods that have no place on this node: they say why, and nothing of containers that there never were. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { Rejection } from './rejection.ts';
import { podQOS } from '../pod/qos.ts';

/** The pod was not admitted, for good. `startTime` is RFC 3339: when it was rejected. As with the kubelet, there are no conditions. */
export function rejectedPodStatus(pod: Pod, { reason, message }: Rejection, startTime: string): PodStatus {
  return { ...whatIsKnown(pod), phase: 'Failed', reason, message: `Pod was rejected: ${message}`, startTime };
}

/** The pod is wanted and could run here, but for want of room. It has not started yet, and its deadline neither. */
export function waitingPodStatus(pod: Pod, { reason, message }: Rejection): PodStatus {
  return { ...whatIsKnown(pod), phase: 'Pending', reason, message };
}

/** The pod has its place now, and begins as any other. */
export function admittedPodStatus(pod: Pod): PodStatus {
  return { ...whatIsKnown(pod), phase: 'Pending' };
}

function whatIsKnown(pod: Pod): PodStatus {
  const { generation } = pod.metadata;
  return { ...(generation !== undefined && { observedGeneration: generation }), qosClass: podQOS(pod) };
}
