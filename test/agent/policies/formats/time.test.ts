import { expect, test } from '@jest/globals';
import {
  compareGoTimes,
  formatGoTime,
  parseGoTime,
  rfc3339,
  rfc3339Nano,
  unixMs,
  ZERO_TIME,
} from '../../../../src/agent/policies/formats/time.ts';

test.each([
  0, 999, 1000, 951_782_399_000, 951_782_400_000, 1_709_164_800_000, 1_893_456_000_000, 4_107_542_400_000,
  -1000,
])('%d ms is written as Date writes it, without the fraction', (ms) => {
  expect(rfc3339(ms)).toBe(new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'));
});

test('every day of 400 years, after which the calendar repeats, is written as Date writes it', () => {
  const dayMs = 86_400_000;
  const wrong = Array.from({ length: 146_097 }, (_, day) => day * dayMs + (day % 1440) * 61_000).filter(
    (ms) => rfc3339(ms) !== new Date(ms).toISOString().replace('.000Z', 'Z'),
  );
  expect(wrong).toEqual([]);
});

test('every day of 400 years is read back as Date reads it', () => {
  const dayMs = 86_400_000;
  const wrong = Array.from({ length: 146_097 }, (_, day) => day * dayMs + (day % 1440) * 61_000).filter(
    (ms) => unixMs(new Date(ms).toISOString()) !== ms,
  );
  expect(wrong).toEqual([]);
});

test.each([
  '1969-12-31T23:59:59Z',
  '2026-02-28T23:59:59.125Z',
  '2026-03-01t01:30:00+02:00',
  '2025-12-31T22:00:00-05:30',
  '2024-02-29T00:00:00.5+00:00',
])('%s is read as Date reads it', (time) => {
  expect(unixMs(time)).toBe(Date.parse(time));
});

test.each(
  [
    ['', 'yesterday', '2026-01-02', '2026-01-02T03:04:05', '2026-01-02 03:04:05Z'],
    ['2026-13-01T00:00:00Z', '2026-01-01T25:00:00Z', '26-01-01T00:00:00Z', 'x2026-01-02T03:04:05Z'],
  ].flat(),
)('"%s" is no time', (time) => {
  expect(unixMs(time)).toBeNaN();
});

test("Go's zero time is in the year 1", () => {
  expect(unixMs('0001-01-01T00:00:00Z')).toBe(-62_135_596_800_000);
  expect(rfc3339(-62_135_596_800_000)).toBe('0001-01-01T00:00:00Z');
});

test('digits below a millisecond are kept', () => {
  expect(unixMs('2030-01-01T00:00:00.123456Z') - Date.UTC(2030, 0, 1)).toBeCloseTo(123.456, 3);
});

test('a time before 1970 is rounded down to the second, as one after it', () => {
  expect(rfc3339(-0.5)).toBe('1969-12-31T23:59:59Z');
  expect(rfc3339(1999.5)).toBe('1970-01-01T00:00:01Z');
});

test('a time is written to the nanosecond as Go does, and read back', () => {
  expect(rfc3339Nano(1_893_456_000_007)).toBe('2030-01-01T00:00:00.007000000Z');
  expect(unixMs(rfc3339Nano(1_893_456_000_007))).toBe(1_893_456_000_007);
});

const seconds = (text: string) => Date.parse(text) / 1000;

test.each([
  ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00.000000000Z'],
  ['2030-01-01T02:00:00.5+02:00', '2030-01-01T02:00:00.500000000+02:00'],
  ['2029-12-31T18:29:50.657-05:30', '2029-12-31T18:29:50.657000000-05:30'],
  ['2030-01-01T00:00:00.1234567891Z', '2030-01-01T00:00:00.123456789Z'],
  ['2030-01-01T00:00:00+00:00', '2030-01-01T00:00:00.000000000Z'],
  ['0000-02-29T00:00:00Z', '0000-02-29T00:00:00.000000000Z'],
  ['2028-02-29T23:59:59,25Z', '2028-02-29T23:59:59.250000000Z'],
  ['2030-01-01T5:00:00Z', '2030-01-01T05:00:00.000000000Z'],
])('%s is written as %s', (text, want) => {
  const time = parseGoTime(text);
  expect(time && formatGoTime(time)).toBe(want);
});

test('the zone shifts the moment', () => {
  const moment = { seconds: seconds('2030-01-01T00:00:00Z'), nanos: 0 };
  expect(parseGoTime('2030-01-01T02:00:00+02:00')).toEqual({ ...moment, offsetMinutes: 120 });
  expect(parseGoTime('2029-12-31T18:30:00-05:30')).toEqual({ ...moment, offsetMinutes: -330 });
});

test.each([
  '2030-02-29T00:00:00Z',
  '2030-00-01T00:00:00Z',
  '2030-13-01T00:00:00Z',
  '2030-01-32T00:00:00Z',
  '2030-01-01T24:00:00Z',
  '2030-01-01T00:60:00Z',
  '2030-01-01T00:00:60Z',
  '2030-01-01T00:00:00',
  '2030-01-01t00:00:00z',
  '2030-01-01T00:00:00.Z',
  '2030-01-01T00:00:00+25:00',
  '2030-01-01 00:00:00Z',
  '30-01-01T00:00:00Z',
  '',
])('"%s" is no time', (text) => {
  expect(parseGoTime(text)).toBeUndefined();
});

test.each(['2030-01-01T5:00:00Z', '2030-01-01T00:00:00,5Z', '2030-01-01T00:00:00+24:00'])(
  '%s is no time in JSON',
  (text) => {
    expect(parseGoTime(text)).toBeDefined();
    expect(parseGoTime(text, { strict: true })).toBeUndefined();
  },
);

test('times are compared to the nanosecond, whatever their zones', () => {
  const time = (text: string) => parseGoTime(text) ?? ZERO_TIME;
  const noon = time('2030-01-01T12:00:00.000000001Z');
  expect(compareGoTimes(noon, time('2030-01-01T14:00:00.000000001+02:00'))).toBe(0);
  expect(compareGoTimes(noon, time('2030-01-01T12:00:00.000000002Z'))).toBeLessThan(0);
  expect(compareGoTimes(noon, time('2030-01-01T11:59:59.9Z'))).toBeGreaterThan(0);
  expect(compareGoTimes(ZERO_TIME, time('0001-01-01T00:00:00Z'))).toBe(0);
});
