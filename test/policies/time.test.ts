import { expect, test } from '@jest/globals';
import { rfc3339 } from '../../src/policies/time.ts';

test.each([
  0, 999, 1000, 951_782_399_000, 951_782_400_000, 1_709_164_800_000, 1_893_456_000_000, 4_107_542_400_000,
  -1000,
])('%d ms is written as Date writes it, without the fraction', (ms) => {
  expect(rfc3339(ms)).toBe(new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'));
});

test('every day of 400 years, which is how long the calendar takes to repeat', () => {
  const dayMs = 86_400_000;
  const wrong = Array.from({ length: 146_097 }, (_, day) => day * dayMs + (day % 1440) * 61_000).filter(
    (ms) => rfc3339(ms) !== new Date(ms).toISOString().replace('.000Z', 'Z'),
  );
  expect(wrong).toEqual([]);
});
