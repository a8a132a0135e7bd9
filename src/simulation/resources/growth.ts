/** How much of a resource is used, and whether usage grows for a time: drawn by a key. */

/** In [0, 1); the same for the same key. */
export type KeyedRandom = (key: string) => number;

export interface Growth {
  readonly atStart: number;
  readonly perMs: number;
}

/** How much of a resource its users take. */
export interface UseHabits {
  /** At the start, of what they request: one of these by chance. */
  readonly shares: readonly number[];
  /** The share of users whose usage grows, from 0 to 1. */
  readonly growing: number;
  readonly maxPerMs: number;
}

/** How long usage grows. */
export const GROWTH_MS = 5 * 60_000;

interface DrawnFrom {
  readonly atStart: number;
  /** The share of users whose usage grows, from 0 to 1. */
  readonly growing: number;
  readonly maxPerMs: number;
}

export function drawnGrowth(
  random: KeyedRandom,
  key: string,
  { atStart, growing, maxPerMs }: DrawnFrom,
): Growth {
  const grows = random(`${key}/leaks`) < growing;
  return { atStart, perMs: grows ? maxPerMs * random(`${key}/leak`) : 0 };
}

/** In whole units. */
export function grown({ atStart, perMs }: Growth, forMs: number): number {
  return Math.round(atStart + perMs * Math.min(GROWTH_MS, Math.max(0, forMs)));
}

export function drawn<T>(items: readonly T[], chance: number): T | undefined {
  return items[Math.floor(items.length * chance)];
}
