/**
 * Which pods are preempted so that a critical pod fits. This is the kubelet's choice, ties included: Guaranteed pods are
 * chosen only for what all other pods cannot free, and Burstable pods only for what BestEffort pods cannot free. Within a
 * class, the next victim is always the pod that is nearest to freeing what is still missing.
 */
import type { Pod } from '../../../types/kubernetes.ts';
import type { MissingResource } from '../admission/rejection.ts';
import { isPreemptable } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import { resourceRequest } from '../pod/resources.ts';

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
  const unmet = named(missing, missingAfter(amounts, candidates));
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
    chooseNearest(among, missingAfter(missing, gone.flat()), preference);
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

export interface PreemptionCandidate {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly qosClass: string;
  readonly priority: number;
  /** How much of each missing resource its end frees, in the order of the missing resources. `cpu` in thousandths. */
  readonly frees: readonly number[];
  readonly memoryBytes: number;
  readonly milliCPU: number;
  /** From all that is missing before any victim is chosen: `distanceFrom`. */
  readonly distance: number;
}

/** How much of each resource is still missing. Zero or less: nothing. */
type Amounts = readonly number[];

/** In the order of the pods. Throws what `parseQuantity` throws. */
export function preemptionCandidates(
  preemptor: Pod,
  pods: readonly Pod[],
  missing: readonly MissingResource[],
): readonly PreemptionCandidate[] {
  const amounts = missing.map(({ amount }) => amount);
  const resources = missing.map(({ resource }) => resource);
  const [memory, cpu] = [resources.indexOf('memory'), resources.indexOf('cpu')];
  return pods
    .filter((pod) => isPreemptable(preemptor, pod))
    .map((pod) => {
      const { metadata, spec } = pod;
      const frees = resources.map((resource) => request(pod, resource));
      return {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        qosClass: podQOS(pod),
        priority: spec.priority ?? 0,
        frees,
        memoryBytes: frees[memory] ?? request(pod, 'memory'),
        milliCPU: frees[cpu] ?? request(pod, 'cpu'),
        distance: distanceFrom(amounts, frees),
      };
    });
}

/** Exact up to 2^53: 9 PB. */
function request(pod: Pod, resource: string): number {
  return Number(resourceRequest(pod, resource));
}

/**
 * How far a pod is from freeing what is missing: the sum of the squares of the fractions that would still be missing.
 * Fractions give every resource the same weight.
 */
export function distanceFrom(missing: Amounts, frees: readonly number[]): number {
  let sum = 0;
  for (let index = 0; index < missing.length; index += 1) {
    const amount = missing[index] ?? 0;
    const left = amount - (frees[index] ?? 0);
    if (amount > 0 && left > 0) sum += (left / amount) * (left / amount);
  }
  return sum;
}

// The choice among the pods of one QoS class: always the nearest one next. Few and small victims, though not the best set.

interface Choice {
  readonly candidate: PreemptionCandidate;
  /** What was missing when the candidate was chosen, and its distance from that. */
  readonly missing: Amounts;
  readonly distance: number;
}

/** Whether `a` is chosen rather than `b`, which has the same distance and comes earlier in the pool. */
export type Preference = (a: PreemptionCandidate, b: PreemptionCandidate) => boolean;

/** What is still missing when these pods have ended. */
export function missingAfter(missing: Amounts, gone: readonly PreemptionCandidate[]): Amounts {
  const left = [...missing];
  for (const { frees } of gone)
    for (let index = 0; index < left.length; index += 1)
      left[index] = (left[index] ?? 0) - (frees[index] ?? 0);
  return left;
}

function isAnyMissing(amounts: Amounts): boolean {
  return amounts.some((amount) => amount > 0);
}

/** Chooses the nearest candidate, then the nearest of the others, until nothing is missing. */
export function chooseNearest(
  candidates: readonly PreemptionCandidate[],
  missing: Amounts,
  isPreferred: Preference,
): readonly Choice[] {
  const pool = [...candidates];
  const choices: Choice[] = [];
  let left = missing;
  while (isAnyMissing(left) && pool.length > 0) {
    const choice = takeNearest(pool, left, isPreferred);
    choices.push(choice);
    left = missingAfter(left, [choice.candidate]);
  }
  return choices;
}

/**
 * Removes the nearest candidate from the pool and puts the last one in its place. Order decides between equal candidates, so
 * this has to be done as the kubelet does it.
 */
function takeNearest(pool: PreemptionCandidate[], missing: Amounts, isPreferred: Preference): Choice {
  let nearest: Choice | undefined;
  let place = 0;
  for (let index = 0; index < pool.length; index += 1) {
    const candidate = pool[index];
    if (candidate === undefined) continue;
    const distance = distanceFrom(missing, candidate.frees);
    if (nearest !== undefined && distance > nearest.distance) continue;
    if (distance === nearest?.distance && !isPreferred(candidate, nearest.candidate)) continue;
    nearest = { candidate, missing, distance };
    place = index;
  }
  const last = pool.pop();
  if (nearest === undefined || last === undefined) throw new Error('there is nothing to choose from');
  if (place < pool.length) pool[place] = last;
  return nearest;
}

/** Less memory first, then less CPU. Of two equal candidates, the later one. */
export const smallerRequest: Preference = (a, b) => {
  if (a.memoryBytes !== b.memoryBytes) return a.memoryBytes < b.memoryBytes;
  return a.milliCPU <= b.milliCPU;
};

/** As `smallerRequest`; of two candidates that request the same, lower priority first. */
export const smallerRequestThenPriority: Preference = (a, b) => {
  const same = a.memoryBytes === b.memoryBytes && a.milliCPU === b.milliCPU;
  return same ? a.priority <= b.priority : smallerRequest(a, b);
};
