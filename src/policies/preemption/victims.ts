/**
 * Which pods have to go so that a critical one fits. The kubelet's choice, down to its ties: Guaranteed pods go only for
 * what all others could not free, Burstable ones only for what BestEffort ones could not; within a class, always the pod
 * that is nearest to freeing what is still missing.
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
  /** Those that hold resources, in an order that ties depend on. */
  readonly pods: readonly Pod[];
  readonly missing: readonly MissingResource[];
  /** Of victims that are otherwise equal, lower priority goes first. The kubelet does not look at it. */
  readonly lowerPriorityFirst: boolean;
}

/** A choice, and what it was made from. */
export interface PreemptionDecision {
  readonly missing: readonly MissingResource[];
  readonly candidates: readonly PreemptionCandidate[];
  /** In the order in which they are to go: BestEffort, Burstable, Guaranteed. */
  readonly victims: readonly Victim[];
  /** What would be missing even if all candidates went. Where there is any, nobody goes. */
  readonly unmet: readonly MissingResource[];
}

export interface Victim {
  readonly candidate: PreemptionCandidate;
  /** What was missing when it was chosen, and how far from that it was. */
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

/** From the most to the least guaranteed class: each has to give only what those below it cannot. */
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
