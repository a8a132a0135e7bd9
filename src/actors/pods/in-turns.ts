import type { Clock } from '../../types/clock.ts';

/** So many pods are handled in one turn of the event loop: probes and eviction go on between the turns. */
const PODS_A_TURN = 25;

/** Handles the items in their order, the first ones at once and the others in later turns of the event loop. */
export function inTurns<T>(clock: Clock, items: readonly T[], handle: (item: T) => void): void {
  for (const item of items.slice(0, PODS_A_TURN)) handle(item);
  const others = items.slice(PODS_A_TURN);
  if (others.length > 0) clock.setTimeout(() => inTurns(clock, others, handle), 0);
}
