/** Resources that preemption frees for a critical pod are reserved for it from the decision on, not only once it runs. */
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { type Admission, admitPod } from '../admission/admit-pod.ts';
import { heldBy } from '../admission/held-resources.ts';
import { isPreemptable } from '../pod/pod-kinds.ts';

/** The resources that are being freed. */
export interface ComingRoom {
  /** UIDs of pods that are ending: the resources that they hold will be free. */
  readonly ending: ReadonlySet<string>;
  /** The critical pods that wait for these resources. */
  readonly promisedTo: readonly Pod[];
}

/** The pods apart from `pod` that will hold resources once the ending pods have ended and the waiting pods have started. */
export function holdersOnceFreed(pod: Pod, holders: readonly Pod[], room: ComingRoom): readonly Pod[] {
  const waiting = room.promisedTo.filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
  return [...holders.filter(({ metadata }) => !room.ending.has(metadata.uid)), ...waiting];
}

/** The same, but without the waiting pods that `pod` could preempt if they ran: `pod` need not leave them anything. */
export function lessYielding(pod: Pod, room: ComingRoom): ComingRoom {
  return { ...room, promisedTo: room.promisedTo.filter((other) => !isPreemptable(pod, other)) };
}

/**
 * `admitPod` for a node on which resources are being freed. The pod has to fit beside all pods that hold resources now, and
 * beside the waiting pods to which resources are promised. If it does not fit beside all of these, it has to fit beside the
 * waiting pods that it could not preempt.
 */
export function admitPodBeside(
  node: NodeFacts,
  pod: Pod,
  holders: readonly Pod[],
  room: ComingRoom,
): Admission {
  const now = admitPod(node, pod, heldBy(holders));
  if (now.kind !== 'admitted' || room.promisedTo.length === 0) return now;
  const beside = (coming: ComingRoom) => admitPod(node, pod, heldBy(holdersOnceFreed(pod, holders, coming)));
  const admission = beside(room);
  return admission.kind === 'admitted' ? admission : beside(lessYielding(pod, room));
}
