/** Deletions of static pods by a person on the node (`statelet delete`). */
import type { SeededRandom } from './seeded-random.ts';

export interface HandDeletion {
  readonly kind: 'delete by hand';
  /** Undefined: that of the pod's spec. */
  readonly graceSeconds?: number;
}

const HOUR_MS = 3_600_000;
/** The average for each node. */
const DELETIONS_PER_HOUR = 6;
const GRACES = [undefined, undefined, 0, 1, 5, 60];

export interface PlannedHandDeletion {
  readonly atMs: number;
  /** The pod's name. */
  readonly name: string;
  readonly change: HandDeletion;
}

export function* handDeletions(
  random: SeededRandom,
  { pods, hours }: { readonly pods: number; readonly hours: number },
): Generator<PlannedHandDeletion, undefined> {
  const endMs = Math.round(hours * HOUR_MS);
  for (let atMs = later(random); atMs < endMs; atMs += later(random)) {
    const name = `pod-${String(random.integer(1, Math.max(1, pods)))}`;
    const graceSeconds = random.pick(GRACES);
    yield {
      atMs,
      name,
      change: { kind: 'delete by hand', graceSeconds },
    };
  }
}

const later = (random: SeededRandom): number => random.integer(0, (2 * HOUR_MS) / DELETIONS_PER_HOUR);
