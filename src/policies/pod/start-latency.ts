/** Whose start is measured, and when it is over, by the definition of the kubelet's start latency. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { isManifestPod } from './pod-kinds.ts';

const STATELESS = ['secret', 'configMap', 'downwardAPI', 'emptyDir', 'projected'] as const;

/** A pod of the API server that no node has begun, and that did not have to wait for the scheduler. */
export function isStartAwaited(pod: Pod): boolean {
  const { startTime, conditions = [] } = pod.status ?? {};
  const isUnscheduled = conditions.some(({ type, status }) => type === 'PodScheduled' && status === 'False');
  return !isManifestPod(pod) && startTime === undefined && !isUnscheduled;
}

export function allContainersRun({ containerStatuses = [] }: PodStatus): boolean {
  return containerStatuses.length > 0 && containerStatuses.every(({ state }) => state?.running?.startedAt);
}

/** It has a volume of a kind that outlives a pod. */
export function isStateful({ spec: { volumes = [] } }: Pod): boolean {
  return volumes.some((volume) => STATELESS.every((kind) => volume[kind] === undefined));
}
