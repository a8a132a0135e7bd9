/** Changes of a node that come at random times with an average rate, beside the operations of its pod names. */
import type { SeededRandom } from './seeded-random.ts';

export const HOUR_MS = 3_600_000;

export interface PlannedChange<Change> {
  readonly atMs: number;
  /** The pod's name; empty for a change that is not about a pod name. */
  readonly name: string;
  readonly change: Change;
}

export interface PlannedFor {
  /** How many pod names the node has. */
  readonly pods: number;
  readonly hours: number;
}

/** The next time is drawn after everything that is drawn for the one before. */
export function* timesAtRate(
  random: SeededRandom,
  hours: number,
  perHour: number,
): Generator<number, undefined> {
  const endMs = Math.round(hours * HOUR_MS);
  const distance = () => random.integer(0, (2 * HOUR_MS) / perHour);
  for (let atMs = distance(); atMs < endMs; atMs += distance()) yield atMs;
}

export function drawnPodName(random: SeededRandom, pods: number): string {
  return `pod-${String(random.integer(1, Math.max(1, pods)))}`;
}
