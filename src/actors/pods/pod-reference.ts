import type { PodContext } from '../../machines/pod-machine.ts';
import type { PodReference } from '../../types/event-recorder.ts';

/** Which pod an actor is about, also where only the runtime knows it. A pod's name has no underscore: the first ends it. */
export function referenceOf({ pod, uid, fullName }: PodContext): PodReference {
  if (pod) return pod.metadata;
  const separator = fullName.indexOf('_');
  return { uid, name: fullName.slice(0, separator), namespace: fullName.slice(separator + 1) };
}
