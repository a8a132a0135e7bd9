/** How room is made for a critical pod that lacks nothing else: which pods are preempted, and whose end it waits for. */
import type { Pod } from '../../../types/kubernetes.ts';
import type { NodeFacts } from '../../../types/node-facts.ts';
import { type Admission, admitPod } from '../admission/admit-pod.ts';
import { usedBy } from '../admission/used-resources.ts';
import { type Rejection, unexpectedAdmissionError } from '../admission/rejection.ts';
import { isPreemptable } from '../pod/pod-kinds.ts';
import { preemptionError } from './preemption-message.ts';
import { type PreemptionDecision, selectVictims } from './victims.ts';

export interface PreemptionPlanFacts {
  readonly node: NodeFacts;
  readonly preemptor: Pod;
  /** All other pods that hold resources of the node. Their order decides between candidates that are equal. */
  readonly holders: readonly Pod[];
  readonly room: FreedRoom;
  /** UIDs of pods that could not be ended: they keep their resources. */
  readonly unendable: ReadonlySet<string>;
  readonly lowerPriorityFirst: boolean;
}

export type PreemptionPlan =
  /** `awaited`: UIDs of the victims, and of pods that are ending already if the preemptor needs their resources too. */
  | { readonly kind: 'evict'; readonly decision: PreemptionDecision; readonly awaited: readonly string[] }
  | { readonly kind: 'reject'; readonly decision?: PreemptionDecision; readonly rejection: Rejection };

/**
 * Resources that are being freed for other critical pods are not given out twice: the pods that are ending for them are no
 * candidates, and what is promised does not count as free. If no plan is found that way, promises to pods that the preemptor
 * could preempt are ignored; those pods then have to be admitted anew. Throws what `parseQuantity` throws.
 */
export function planPreemption(facts: PreemptionPlanFacts): PreemptionPlan {
  const plan = planBeside(facts);
  if (plan.kind === 'evict') return plan;
  const room = withoutPreemptable(facts.preemptor, facts.room);
  return room.promisedTo.length === facts.room.promisedTo.length ? plan : planBeside({ ...facts, room });
}

function planBeside(facts: PreemptionPlanFacts): PreemptionPlan {
  const { node, preemptor, holders, unendable, lowerPriorityFirst } = facts;
  const room = { ...facts.room, ending: without(facts.room.ending, unendable) };
  const admission = admitPod(node, preemptor, usedBy(holdersOnceFreed(preemptor, holders, room)));
  if (admission.kind === 'rejected') {
    const { reason, message } = admission;
    return { kind: 'reject', rejection: { reason, message } };
  }
  const missing = admission.kind === 'short' ? admission.missing : [];
  const pods = holders.filter(({ metadata: { uid } }) => !room.ending.has(uid) && !unendable.has(uid));
  const decision = selectVictims({ preemptor, pods, missing, lowerPriorityFirst });
  const error = preemptionError(decision);
  if (error !== undefined) return { kind: 'reject', decision, rejection: unexpectedAdmissionError(error) };
  return { kind: 'evict', decision, awaited: awaitedFor(facts, decision, room) };
}

function awaitedFor(
  { node, preemptor, holders }: PreemptionPlanFacts,
  { victims }: PreemptionDecision,
  { ending }: FreedRoom,
): readonly string[] {
  const uids = victims.map(({ candidate }) => candidate.uid);
  const gone = new Set(uids);
  const others = holders.filter(({ metadata }) => !gone.has(metadata.uid));
  const fitsWithoutThem = admitPod(node, preemptor, usedBy(others)).kind === 'admitted';
  return fitsWithoutThem ? uids : [...uids, ...ending];
}

function without(uids: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...uids].filter((uid) => !others.has(uid)));
}

// Resources that preemption frees for a critical pod are reserved for it from the decision on, not only once it runs.

/** The resources that are being freed. */
export interface FreedRoom {
  /** UIDs of pods that are ending: the resources that they hold will be free. */
  readonly ending: ReadonlySet<string>;
  /** The critical pods that wait for these resources. */
  readonly promisedTo: readonly Pod[];
}

/**
 * The pods apart from `pod` that will hold resources once the ending pods have ended and the waiting pods have started. A waiting pod that runs
 * already is to get more resources.
 */
export function holdersOnceFreed(pod: Pod, holders: readonly Pod[], room: FreedRoom): readonly Pod[] {
  const waiting = room.promisedTo.filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
  const changed = new Set([...room.ending, ...waiting.map(({ metadata }) => metadata.uid)]);
  return [...holders.filter(({ metadata }) => !changed.has(metadata.uid)), ...waiting];
}

/** The same, but without the waiting pods that `pod` could preempt if they ran: it may take the room that is promised to them. */
export function withoutPreemptable(pod: Pod, room: FreedRoom): FreedRoom {
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
  room: FreedRoom,
): Admission {
  const now = admitPod(node, pod, usedBy(holders));
  if (now.kind !== 'admitted' || room.promisedTo.length === 0) return now;
  const beside = (coming: FreedRoom) => admitPod(node, pod, usedBy(holdersOnceFreed(pod, holders, coming)));
  const admission = beside(room);
  return admission.kind === 'admitted' ? admission : beside(withoutPreemptable(pod, room));
}
