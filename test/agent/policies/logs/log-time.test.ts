import { expect, test } from '@jest/globals';
import {
  compareGoTimes,
  formatGoTime,
  type GoTime,
  parseGoTime,
  ZERO_TIME,
} from '../../../../src/agent/policies/formats/time.ts';
import { LogTime, Since } from '../../../../src/agent/policies/logs/log-time.ts';
import { seededRandom, type SeededRandom } from '../../../../src/simulation/plan/seeded-random.ts';

/** Times as runtimes write them, and some that are slightly wrong. */
function drawnTime(random: SeededRandom): string {
  const two = (max: number) => String(random.integer(0, max)).padStart(2, '0');
  const fraction = random.pick([
    '',
    '.',
    `.${'123456789'.slice(0, random.integer(1, 9))}`,
    ',5',
    '.1234567890',
  ]);
  const zone = random.pick(['Z', '+02:00', '-05:30', '+00:00', '+24:00', '+01:60', 'z', '', '+2:00']);
  const day = `${random.pick(['2030', '2028', '0000', '9999', '20x0'])}-${two(13)}-${two(32)}`;
  return `${day}T${two(25)}:${two(61)}:${two(61)}${fraction}${zone}`;
}

test('any text is a time, with that stamp, exactly where it is one to Go', () => {
  const random = seededRandom(15);
  const seen = new Set<boolean>();
  for (let round = 0; round < 20_000; round += 1) {
    const text = drawnTime(random);
    const moment = parseGoTime(text);
    seen.add(moment !== undefined);
    expect({ text, stamp: LogTime.parse(text)?.stamp }).toEqual({
      text,
      stamp: moment && formatGoTime(moment),
    });
  }
  expect(seen.size).toBe(2);
});

test.each(['', 'Z', '+02:00', '2030-01-01T00:00:00', 'x'.repeat(1e6)])('%s is no time', (text) => {
  expect(LogTime.parse(text)).toBeUndefined();
});

test('a time is before a moment by its nanoseconds, whatever its zone', () => {
  const random = seededRandom(16);
  const moments = [
    '2030-01-01T00:00:00.000000002Z',
    '2028-06-15T12:30:00+02:00',
    '0000-01-01T00:00:00Z',
  ].concat(['0000-01-01T00:00:00+02:00', '9999-12-31T23:59:59.9-02:00']);
  const isBefore = (text: string, since: GoTime) => LogTime.parse(text)?.isBefore(new Since(since));
  for (const words of moments) {
    const since = parseGoTime(words) ?? ZERO_TIME;
    const near = [`2030-01-01T02:00:00.00000000${random.integer(0, 9)}+02:00`, '2030-01-01T00:00:00Z', words];
    for (const text of [...near, ...Array.from({ length: 2000 }, () => drawnTime(random))]) {
      const moment = parseGoTime(text);
      const want = moment && compareGoTimes(moment, since) < 0;
      expect({ text, isBefore: isBefore(text, since) }).toEqual({ text, isBefore: want });
    }
  }
  const longAgo = { seconds: -(2 ** 63), nanos: 0, offsetMinutes: 0 };
  expect(isBefore('2030-01-01T00:00:00Z', longAgo)).toBe(false);
});
