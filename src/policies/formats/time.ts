/** Times as the API writes them: RFC 3339. */

/** Unix milliseconds in whole seconds, UTC, rounded down: how the API server writes `metav1.Time`. */
export function rfc3339(unixMs: number): string {
  const date = new Date(Math.floor(unixMs));
  const day = [
    padded(date.getUTCFullYear(), 4),
    padded(date.getUTCMonth() + 1, 2),
    padded(date.getUTCDate(), 2),
  ];
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map((part) =>
    padded(part, 2),
  );
  return `${day.join('-')}T${clock.join(':')}Z`;
}

/** Unix milliseconds with nine digits after the second, UTC: how the kubelet notes when it first saw a pod. */
export function rfc3339Nano(unixMs: number): string {
  return new Date(unixMs).toISOString().replace('Z', '000000Z');
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Unix milliseconds of a time in RFC 3339, with the fraction of a millisecond where it has one; NaN for anything else. */
export function unixMs(time: string): number {
  const [, seconds, fraction = '0', zone] = RFC_3339.exec(time.toUpperCase()) ?? [];
  if (seconds === undefined || zone === undefined) return NaN;
  return Date.parse(seconds + zone) + Number(fraction) * 1000;
}
