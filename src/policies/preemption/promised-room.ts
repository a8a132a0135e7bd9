/** Room that is being made for critical pods is theirs from the moment in which it is decided on, not only once they run. */
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { type Admission, admitPod } from '../admission/admit-pod.ts';
import { heldBy } from '../admission/held-resources.ts';
import { isPreemptable } from '../pod/pod-kinds.ts';

/** What is already being freed. */
export interface ComingRoom {
  /** UIDs of pods that are ending: what they hold now will be free. */
  readonly ending: ReadonlySet<string>;
  /** The critical pods that wait for it. */
  readonly promisedTo: readonly Pod[];
}

/** Who will hold resources, apart from `pod`, once those that are ending have ended and those that wait have come. */
export function holdersOnceFreed(pod: Pod, holders: readonly Pod[], room: ComingRoom): readonly Pod[] {
  const waiting = room.promisedTo.filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
  return [...holders.filter(({ metadata }) => !room.ending.has(metadata.uid)), ...waiting];
}

/** The room without what is promised to pods that `pod` could push out if they ran. */
export function lessYielding(pod: Pod, room: ComingRoom): ComingRoom {
  return { ...room, promisedTo: room.promisedTo.filter((other) => !isPreemptable(pod, other)) };
}

/**
 * `admitPod` for a node on which room is being made: the pod has to fit beside all that hold resources now, and leave to
 * those that wait what they were promised. Where that cannot be, those that matter less give way.
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
