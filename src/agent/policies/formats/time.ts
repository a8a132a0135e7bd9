/** Times in RFC 3339: as the API writes them, and as Go reads and writes them. */

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

// Times in RFC 3339 as Go reads and writes them. They keep nanoseconds, and the zone in which they were written.

export interface GoTime {
  /** Unix time. */
  readonly seconds: number;
  readonly nanos: number;
  readonly offsetMinutes: number;
}

/** What Go's `time.Time{}` is: the time of a log line that has none. */
export const ZERO_TIME: GoTime = { seconds: -62_135_596_800, nanos: 0, offsetMinutes: 0 };

const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:([.,])(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/**
 * undefined: it is no time in RFC 3339. `strict` is for times in JSON. Others may have an hour of one digit, a comma before the fraction,
 * and zones up to 24:60.
 */
export function parseGoTime(text: string, { strict = false } = {}): GoTime | undefined {
  const parts = TIME.exec(text);
  if (!parts) return undefined;
  const [
    ,
    year,
    month,
    day,
    hour = '',
    minute,
    second,
    point,
    fraction = '',
    sign,
    zoneHours = 0,
    zoneMinutes = 0,
  ] = parts;
  if (strict && (hour.length < 2 || point === ',')) return undefined;
  if (Number(zoneHours) > (strict ? 23 : 24) || Number(zoneMinutes) > (strict ? 59 : 60)) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const days = daysSince1970(Number(year), Number(month), Number(day));
  if (days === undefined) return undefined;
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(zoneHours) * 60 + Number(zoneMinutes));
  const minutes = (days * 24 + Number(hour)) * 60 + Number(minute) - offsetMinutes;
  const nanos = fraction === '' ? 0 : Number(fraction.slice(0, 9).padEnd(9, '0'));
  return { seconds: minutes * 60 + Number(second), nanos, offsetMinutes };
}

const MS_A_DAY = 86_400_000;

/** undefined: there is no such day. */
function daysSince1970(year: number, month: number, day: number): number | undefined {
  // Date.UTC takes years below 100 for years after 1900. The calendar repeats after 400 years, which have 146,097 days.
  const later = new Date(Date.UTC(year + 400, month - 1, day));
  if (later.getUTCMonth() !== month - 1 || later.getUTCDate() !== day) return undefined;
  return later.getTime() / MS_A_DAY - 146_097;
}

/** Negative when `a` is before `b`, 0 when they are the same moment. */
export function compareGoTimes(a: GoTime, b: GoTime): number {
  return a.seconds - b.seconds || a.nanos - b.nanos;
}

/** In the zone of the time, with nine digits after the second; `short`: without zeros at the end. */
export function formatGoTime({ seconds, nanos, offsetMinutes }: GoTime, { short = false } = {}): string {
  const local = new Date((seconds + offsetMinutes * 60) * 1000).toISOString().slice(0, -'.000Z'.length);
  const fraction = `.${String(nanos).padStart(9, '0')}`;
  return `${local}${short ? fraction.replace(/\.?(?<!0)0+$/, '') : fraction}${zone(offsetMinutes)}`;
}

function zone(offsetMinutes: number): string {
  if (offsetMinutes === 0) return 'Z';
  const minutes = Math.abs(offsetMinutes);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
