/** How much of something is used, and that it may become ever more for a time: drawn by a key. */

/** In [0, 1), by the key. */
export type KeyedRandom = (key: string) => number;

export interface Growth {
  readonly atStart: number;
  readonly perMs: number;
}

/** One in so many uses ever more, for so long. */
const LEAKING = 0.2;
export const GROWTH_MS = 5 * 60_000;

export function drawnGrowth(
  random: KeyedRandom,
  key: string,
  { atStart, maxPerMs }: { readonly atStart: number; readonly maxPerMs: number },
): Growth {
  const leaks = random(`${key}/leaks`) < LEAKING;
  return { atStart, perMs: leaks ? maxPerMs * random(`${key}/leak`) : 0 };
}

/** In whole units. */
export function grown({ atStart, perMs }: Growth, forMs: number): number {
  return Math.round(atStart + perMs * Math.min(GROWTH_MS, Math.max(0, forMs)));
}

export function drawn<T>(items: readonly T[], chance: number): T | undefined {
  return items[Math.floor(items.length * chance)];
}
