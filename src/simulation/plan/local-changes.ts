/** What happens on a node itself, beside what happens to its pods: deletions by a person, and remains of pods. */
import { drawnPodName, type PlannedChange, type PlannedFor, timesAtRate } from './planned-change.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A person deletes a static pod on the node (`statelet delete`). */
export interface HandDeletion {
  readonly kind: 'delete by hand';
  /** Undefined: that of the pod's spec. */
  readonly graceSeconds?: number;
}

/**
 * Remains of a pod that is gone appear, as after a call of an earlier agent that is carried out late. Without a name they are of a pod that never
 * existed; with one, of the last pod of that name, if nothing else is left of it.
 */
export interface LeftRemains {
  readonly kind: 'leave remains';
  readonly mounted: boolean;
}

/** The averages for each node. */
const DELETIONS_PER_HOUR = 6;
const REMAINS_PER_HOUR = 12;
const GRACES = [undefined, undefined, 0, 1, 5, 60];

export function* handDeletions(
  random: SeededRandom,
  { pods, hours }: PlannedFor,
): Generator<PlannedChange<HandDeletion>, undefined> {
  for (const atMs of timesAtRate(random, hours, DELETIONS_PER_HOUR)) {
    const name = drawnPodName(random, pods);
    yield { atMs, name, change: { kind: 'delete by hand', graceSeconds: random.pick(GRACES) } };
  }
}

export function* leftRemains(
  random: SeededRandom,
  { pods, hours }: PlannedFor,
): Generator<PlannedChange<LeftRemains>, undefined> {
  for (const atMs of timesAtRate(random, hours, REMAINS_PER_HOUR)) {
    const name = drawnPodName(random, pods);
    const isOfFormerPod = random.next() < 0.5;
    const change = { kind: 'leave remains', mounted: random.next() < 0.5 } as const;
    yield { atMs, name: isOfFormerPod ? name : '', change };
  }
}
