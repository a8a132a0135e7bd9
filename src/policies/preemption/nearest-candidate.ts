/** The choice among the pods of one class: as few as possible, then as small as possible, without looking for the best set. */
import { type Amounts, distanceFrom, type PreemptionCandidate } from './candidates.ts';

export interface Choice {
  readonly candidate: PreemptionCandidate;
  /** What was missing when it was chosen, and how far from that it was. */
  readonly missing: Amounts;
  readonly distance: number;
}

/** Whether `a` goes rather than `b`, which is as near and was looked at before. */
export type Preference = (a: PreemptionCandidate, b: PreemptionCandidate) => boolean;

/** What is missing without these pods. */
export function amountsLess(missing: Amounts, gone: readonly PreemptionCandidate[]): Amounts {
  const rest = [...missing];
  for (const { frees } of gone)
    for (let index = 0; index < rest.length; index += 1)
      rest[index] = (rest[index] ?? 0) - (frees[index] ?? 0);
  return rest;
}

function isAnyMissing(amounts: Amounts): boolean {
  return amounts.some((amount) => amount > 0);
}

/** Each time the nearest, until nothing is missing. Looks at every candidate once for each one chosen. */
export function chooseNearest(
  candidates: readonly PreemptionCandidate[],
  missing: Amounts,
  isPreferred: Preference,
): readonly Choice[] {
  const pool = [...candidates];
  const choices: Choice[] = [];
  let rest = missing;
  while (isAnyMissing(rest) && pool.length > 0) {
    const choice = takeNearest(pool, rest, isPreferred);
    choices.push(choice);
    rest = amountsLess(rest, [choice.candidate]);
  }
  return choices;
}

/** The last one takes the place of the one that is taken: among equals, order decides, and the kubelet's has to be kept. */
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

/** Less memory, then less CPU; of full equals the one that is looked at last. */
export const smallerRequest: Preference = (a, b) => {
  if (a.memoryBytes !== b.memoryBytes) return a.memoryBytes < b.memoryBytes;
  return a.milliCPU <= b.milliCPU;
};

/** Of those that request the same, lower priority goes first. */
export const smallerRequestThenPriority: Preference = (a, b) => {
  const same = a.memoryBytes === b.memoryBytes && a.milliCPU === b.milliCPU;
  return same ? a.priority <= b.priority : smallerRequest(a, b);
};
