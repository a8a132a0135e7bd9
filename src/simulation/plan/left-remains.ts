/** What a node has of pods that are gone: it appears at any time, as by a call of an earlier agent that is carried out late. */
import type { SeededRandom } from './seeded-random.ts';

/** Without a name it is of a pod that never was; with one, of the last pod of that name, if nothing of that pod is left. */
export interface LeftRemains {
  readonly kind: 'leave remains';
  readonly mounted: boolean;
}

const HOUR_MS = 3_600_000;
/** The average for each node. */
const REMAINS_PER_HOUR = 12;

export interface PlannedRemains {
  readonly atMs: number;
  readonly name: string;
  readonly change: LeftRemains;
}

export function* leftRemains(
  random: SeededRandom,
  { pods, hours }: { readonly pods: number; readonly hours: number },
): Generator<PlannedRemains, undefined> {
  const endMs = Math.round(hours * HOUR_MS);
  for (let atMs = later(random); atMs < endMs; atMs += later(random)) {
    const name = `pod-${String(random.integer(1, Math.max(1, pods)))}`;
    const isOfFormerPod = random.next() < 0.5;
    yield {
      atMs,
      name: isOfFormerPod ? name : '',
      change: { kind: 'leave remains', mounted: random.next() < 0.5 },
    };
  }
}

const later = (random: SeededRandom): number => random.integer(0, (2 * HOUR_MS) / REMAINS_PER_HOUR);
