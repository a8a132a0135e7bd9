/** The choice among the pods of one QoS class: always the nearest one next. Few and small victims, though not the best set. */
import { type Amounts, distanceFrom, type PreemptionCandidate } from './candidates.ts';

export interface Choice {
  readonly candidate: PreemptionCandidate;
  /** What was missing when the candidate was chosen, and its distance from that. */
  readonly missing: Amounts;
  readonly distance: number;
}

/** Whether `a` is chosen rather than `b`, which has the same distance and comes earlier in the pool. */
export type Preference = (a: PreemptionCandidate, b: PreemptionCandidate) => boolean;

/** What is still missing when these pods have ended. */
export function amountsLess(missing: Amounts, gone: readonly PreemptionCandidate[]): Amounts {
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
    left = amountsLess(left, [choice.candidate]);
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
