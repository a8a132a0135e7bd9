/** How much of something is used, and that it may become ever more for a time: drawn by a key. */

/** In [0, 1), by the key. */
export type KeyedRandom = (key: string) => number;

export interface Growth {
  readonly atStart: number;
  readonly perMs: number;
}

/** How long what uses ever more does so. */
export const GROWTH_MS = 5 * 60_000;

interface DrawnFrom {
  readonly atStart: number;
  /** How many of all use ever more, from 0 to 1. */
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
