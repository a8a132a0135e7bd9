/** The times of log lines, read without a parser where they are written as runtimes write them. */
import { compareGoTimes, formatGoTime, type GoTime, parseGoTime } from '../formats/time.ts';

const ZERO = 0x30;
const SECONDS_LENGTH = '2030-01-01T00:00:00'.length;
const ZONE_LENGTH = '+02:00'.length;
const STAMP_LENGTH = '2030-01-01T00:00:00.000000000'.length;
/** Of the years 0 to 9999. */
const FIRST_SECOND = Date.parse('0000-01-01T00:00:00Z') / 1000;
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The time of a line of a log. It is computed when it is needed: most readers want neither times nor lines since a time. */
export class LogTime {
  readonly #text: string;
  #moment: GoTime | undefined;

  private constructor(text: string, moment: GoTime | undefined) {
    this.#text = text;
    this.#moment = moment;
  }

  /** undefined: it is no time. */
  static parse(text: string): LogTime | undefined {
    if (isUsual(text)) return new LogTime(text, undefined);
    const moment = parseGoTime(text);
    return moment && LogTime.at(moment);
  }

  static at(moment: GoTime): LogTime {
    return new LogTime('', moment);
  }

  /** With nine digits after the second. */
  get stamp(): string {
    const text = this.#text;
    if (text === '') return formatGoTime(this.#parsed());
    const zone = zoneStart(text);
    const time = zone === SECONDS_LENGTH ? `${text.slice(0, zone)}.` : text.slice(0, zone);
    return time.padEnd(STAMP_LENGTH, '0') + text.slice(zone);
  }

  isBefore({ moment, second }: Since): boolean {
    const text = this.#text;
    if (second !== undefined && text.endsWith('Z') && !text.startsWith(second)) return text < second;
    return compareGoTimes(this.#parsed(), moment) < 0;
  }

  #parsed(): GoTime {
    this.#moment ??= parseGoTime(this.#text);
    if (!this.#moment) throw new Error(`${this.#text} is no time`);
    return this.#moment;
  }
}

/** A moment that lines are compared with. */
export class Since {
  readonly moment: GoTime;
  /** As times in UTC begin that are in the same second; undefined: there are no such times. */
  readonly second: string | undefined;

  constructor(moment: GoTime) {
    this.moment = moment;
    const isInCalendar = moment.seconds >= FIRST_SECOND && moment.seconds <= LAST_SECOND;
    const utc = { ...moment, offsetMinutes: 0 };
    this.second = isInCalendar ? formatGoTime(utc).slice(0, SECONDS_LENGTH) : undefined;
  }
}

function zoneStart(text: string): number {
  return text.endsWith('Z') ? text.length - 1 : text.length - ZONE_LENGTH;
}

/** Whether a text is a time as runtimes write it. Times that are written in other ways, or are not on every calendar, are left to the parser. */
function isUsual(text: string): boolean {
  const zone = zoneStart(text);
  if (zone < SECONDS_LENGTH || zone > STAMP_LENGTH || !isUsualZone(text, zone)) return false;
  if (text[4] !== '-' || text[7] !== '-' || text[10] !== 'T' || text[13] !== ':' || text[16] !== ':')
    return false;
  const month = pair(text, 5);
  const day = pair(text, 8);
  const isDay = day >= 1 && day <= (DAYS[month - 1] ?? 0);
  const isTime = pair(text, 11) < 24 && pair(text, 14) < 60 && pair(text, 17) < 60;
  return isDay && isTime && pair(text, 0) < 100 && pair(text, 2) < 100 && isFraction(text, zone);
}

function isFraction(text: string, end: number): boolean {
  if (end === SECONDS_LENGTH) return true;
  if (text[SECONDS_LENGTH] !== '.' || end === SECONDS_LENGTH + 1) return false;
  for (let index = SECONDS_LENGTH + 1; index < end; index += 1) if (digit(text, index) > 9) return false;
  return true;
}

/** A zone of zero is written as Z. */
function isUsualZone(text: string, zone: number): boolean {
  const sign = text[zone];
  if (sign === 'Z') return true;
  if ((sign !== '+' && sign !== '-') || text[zone + 3] !== ':') return false;
  const hours = pair(text, zone + 1);
  const minutes = pair(text, zone + 4);
  return hours < 24 && minutes < 60 && hours + minutes > 0;
}

/** The number of two digits; 100 or more where they are none. */
function pair(text: string, index: number): number {
  const [tens, ones] = [digit(text, index), digit(text, index + 1)];
  return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

/** 10 or more where it is none. */
function digit(text: string, index: number): number {
  const value = text.charCodeAt(index) - ZERO;
  return value >= 0 && value <= 9 ? value : 10;
}
