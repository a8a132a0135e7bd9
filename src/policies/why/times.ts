/** Times in sentences for people. */
import { humanDuration } from '../formats/duration.ts';

/** `10:32:05Z (in 37s)`, `10:32:05Z (37s ago)`, with the date where it is another day (UTC). */
export function atTime(atMs: number, nowMs: number): string {
  const [at, now] = [new Date(atMs).toISOString(), new Date(nowMs).toISOString()];
  const time = at.slice(0, 10) === now.slice(0, 10) ? `${at.slice(11, 19)}Z` : `${at.slice(0, 19)}Z`;
  const distance = humanDuration(Math.abs(atMs - nowMs));
  return `${time} (${atMs > nowMs ? `in ${distance}` : `${distance} ago`})`;
}

/** The same for a time of the API; empty where there is none. */
export function atApiTime(time: string | undefined, nowMs: number): string {
  return time === undefined ? '' : atTime(Date.parse(time), nowMs);
}
