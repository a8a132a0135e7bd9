/** Times as the API writes them, worked out without `Date`, so that a policy cannot read the clock. */

const SECOND_MS = 1000;
const DAY_SECONDS = 86_400;
/** Days in 400, 100, 4 and 1 years of the Gregorian calendar. */
const DAYS_400_YEARS = 146_097;
const DAYS_100_YEARS = 36_524;
const DAYS_4_YEARS = 1461;
const DAYS_YEAR = 365;
/** From 0000-03-01 to 1970-01-01. Years are counted from March, so that a leap day is the last of its year. */
const DAYS_TO_EPOCH = 719_468;

/** Unix milliseconds as RFC 3339 in whole seconds, UTC: how the API server writes `metav1.Time`. */
export function rfc3339(unixMs: number): string {
  const seconds = Math.floor(unixMs / SECOND_MS);
  const days = Math.floor(seconds / DAY_SECONDS);
  const ofDay = seconds - days * DAY_SECONDS;
  const clock = [ofDay / 3600, (ofDay / 60) % 60, ofDay % 60].map((part) => padded(part, 2));
  return `${dateOf(days)}T${clock.join(':')}Z`;
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([+-])(\d\d):(\d\d))$/i;

/** Unix milliseconds of a time in RFC 3339; NaN for anything else. */
export function unixMs(time: string): number {
  const match = RFC_3339.exec(time);
  if (match === null) return NaN;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [fraction = '0', sign = '+', zoneHours = '0', zoneMinutes = '0'] = match.slice(7);
  const zoneSeconds = Number(`${sign}1`) * (Number(zoneHours) * 3600 + Number(zoneMinutes) * 60);
  const seconds = daysTo(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second - zoneSeconds;
  return (seconds + Number(fraction)) * SECOND_MS;
}

/** Days from 1970-01-01. */
function daysTo(year: number, month: number, day: number): number {
  const years = month <= 2 ? year - 1 : year;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  return years * DAYS_YEAR + leapDays + dayOfYear - DAYS_TO_EPOCH;
}

/** `days` since 1970-01-01. */
function dateOf(days: number): string {
  const era = Math.floor((days + DAYS_TO_EPOCH) / DAYS_400_YEARS);
  const dayOfEra = days + DAYS_TO_EPOCH - era * DAYS_400_YEARS;
  const yearOfEra = yearsIn(dayOfEra);
  const daysBefore = DAYS_YEAR * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  const dayOfYear = dayOfEra - daysBefore;
  // March to July, and August to December, have 153 days each: 31 30 31 30 31.
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = ((monthFromMarch + 2) % 12) + 1;
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0);
  return [padded(year, 4), padded(month, 2), padded(day, 2)].join('-');
}

/** Full years in the first `dayOfEra` days of 400 years; their leap days are taken out first. */
function yearsIn(dayOfEra: number): number {
  const leapDays =
    Math.floor(dayOfEra / (DAYS_4_YEARS - 1)) -
    Math.floor(dayOfEra / DAYS_100_YEARS) +
    Math.floor(dayOfEra / (DAYS_400_YEARS - 1));
  return Math.floor((dayOfEra - leapDays) / DAYS_YEAR);
}

function padded(value: number, width: number): string {
  return String(Math.floor(value)).padStart(width, '0');
}
