/**
 * Which pods are preempted so that a critical pod fits. This is the kubelet's choice, ties included: Guaranteed pods are
 * chosen only for what all other pods cannot free, and Burstable pods only for what BestEffort pods cannot free. Within a
 * class, the next victim is always the pod that is nearest to freeing what is still missing.
 */
import type { Pod } from '../../types/kubernetes.ts';
import type { MissingResource } from '../admission/rejection.ts';
import { type Amounts, type PreemptionCandidate, preemptionCandidates } from './candidates.ts';
import {
  amountsLess,
  type Choice,
  chooseNearest,
  smallerRequest,
  smallerRequestThenPriority,
} from './nearest-candidate.ts';

export interface PreemptionFacts {
  readonly preemptor: Pod;
  /** The pods that hold resources. Their order decides between candidates that are equal. */
  readonly pods: readonly Pod[];
  readonly missing: readonly MissingResource[];
  /** Of candidates that request the same, the one of lower priority is chosen first. The kubelet ignores priority here. */
  readonly lowerPriorityFirst: boolean;
}

/** The victims, and from what they were chosen. */
export interface PreemptionDecision {
  readonly missing: readonly MissingResource[];
  readonly candidates: readonly PreemptionCandidate[];
  /** In the order in which they are killed: BestEffort, Burstable, Guaranteed. */
  readonly victims: readonly Victim[];
  /** What would still be missing if all candidates ended. If there is any of this, no pod is killed. */
  readonly unmet: readonly MissingResource[];
}

export interface Victim {
  readonly candidate: PreemptionCandidate;
  /** What was missing when the victim was chosen, and its distance from that. */
  readonly missing: readonly MissingResource[];
  readonly distance: number;
}

/** Throws what `parseQuantity` throws. */
export function selectVictims(facts: PreemptionFacts): PreemptionDecision {
  const { preemptor, pods, missing } = facts;
  const candidates = preemptionCandidates(preemptor, pods, missing);
  const amounts = missing.map(({ amount }) => amount);
  const unmet = named(missing, amountsLess(amounts, candidates));
  if (unmet.length > 0) return { missing, candidates, victims: [], unmet };
  const victims = chooseByClass(candidates, amounts, facts).map((choice) => ({
    ...choice,
    missing: named(missing, choice.missing),
  }));
  return { missing, candidates, victims, unmet };
}

/** From Guaranteed down to BestEffort: each class frees only what the classes below it cannot. */
function chooseByClass(
  candidates: readonly PreemptionCandidate[],
  missing: Amounts,
  { lowerPriorityFirst }: PreemptionFacts,
): readonly Choice[] {
  const preference = lowerPriorityFirst ? smallerRequestThenPriority : smallerRequest;
  const ofClass = (name: string) => candidates.filter(({ qosClass }) => qosClass === name);
  const choose = (among: readonly PreemptionCandidate[], ...gone: (readonly PreemptionCandidate[])[]) =>
    chooseNearest(among, amountsLess(missing, gone.flat()), preference);
  const bestEffort = ofClass('BestEffort');
  const burstable = ofClass('Burstable');
  const fromGuaranteed = choose(ofClass('Guaranteed'), bestEffort, burstable);
  const fromBurstable = choose(burstable, bestEffort, candidatesOf(fromGuaranteed));
  const fromBestEffort = choose(bestEffort, candidatesOf(fromBurstable), candidatesOf(fromGuaranteed));
  return [...fromBestEffort, ...fromBurstable, ...fromGuaranteed];
}

function candidatesOf(choices: readonly Choice[]): readonly PreemptionCandidate[] {
  return choices.map(({ candidate }) => candidate);
}

function named(missing: readonly MissingResource[], amounts: Amounts): readonly MissingResource[] {
  return missing
    .map(({ resource }, index) => ({ resource, amount: amounts[index] ?? 0 }))
    .filter(({ amount }) => amount > 0);
}
