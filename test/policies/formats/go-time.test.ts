import { expect, test } from '@jest/globals';
import {
  compareGoTimes,
  formatGoTime,
  parseGoTime,
  ZERO_TIME,
} from '../../../src/policies/formats/go-time.ts';

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
