/** Times as the page writes them: in the time zone of the browser, and as distances from now. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `5s`, `3m`, `2h`, `4d`. */
export function duration(ms: number): string {
  const distance = Math.abs(ms);
  if (distance < 100 * SECOND_MS) return `${Math.floor(distance / SECOND_MS)}s`;
  if (distance < 100 * MINUTE_MS) return `${Math.floor(distance / MINUTE_MS)}m`;
  if (distance < 48 * HOUR_MS) return `${Math.floor(distance / HOUR_MS)}h`;
  return `${Math.floor(distance / DAY_MS)}d`;
}

/** `10:32:05`. */
export function clockTime(atMs: number): string {
  const at = new Date(atMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** With milliseconds: transitions follow each other closely. */
export function exactTime(atMs: number): string {
  return `${clockTime(atMs)}.${String(new Date(atMs).getMilliseconds()).padStart(3, '0')}`;
}
