import type { PodContext } from '../../machines/pod-machine.ts';
import { parsePodFullName } from '../../policies/pod/pod-kinds.ts';
import type { PodReference } from '../../types/event-recorder.ts';

/** The pod of an actor, also where only the runtime knows the pod. */
export function referenceOf({ pod, uid, fullName }: PodContext): PodReference {
  return pod ? pod.metadata : { uid, ...parsePodFullName(fullName) };
}
