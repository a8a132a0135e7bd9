import type { KeyedRandom } from '../resources/growth.ts';

const GUARDED = 0.3;
const SPENT = 0.7;
const MINUTE_MS = 60_000;

/** Whether a disruption budget keeps the pod from being evicted now. It changes from minute to minute. */
export function isGuarded(uid: string, now: number, random: KeyedRandom): boolean {
  const minute = String(Math.floor(now / MINUTE_MS));
  return random(`budget/${uid}`) < GUARDED && random(`budget/${uid}/${minute}`) < SPENT;
}
