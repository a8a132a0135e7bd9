/** Who sets which conditions of a pod. */

/** Set by whoever ends the pod: the kubelet for an eviction, others for theirs. */
export const DISRUPTION_TARGET = 'DisruptionTarget';

const KUBELET_CONDITIONS: ReadonlySet<string> = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  'PodResizePending',
  'PodResizeInProgress',
]);

/** Whether the node alone sets this condition. */
export function isOwnedByKubelet({ type }: { readonly type: string }): boolean {
  return KUBELET_CONDITIONS.has(type);
}
