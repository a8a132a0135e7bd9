import type { PodContext } from '../../machines/pod-machine.ts';
import type { PodReference } from '../../types/event-recorder.ts';

/** The pod of an actor, also where only the runtime knows the pod. The name of a pod has no underscore: the first one ends it. */
export function referenceOf({ pod, uid, fullName }: PodContext): PodReference {
  if (pod) return pod.metadata;
  const separator = fullName.indexOf('_');
  return { uid, name: fullName.slice(0, separator), namespace: fullName.slice(separator + 1) };
}
