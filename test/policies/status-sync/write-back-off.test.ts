import { expect, test } from '@jest/globals';
import { writeBackOffMs } from '../../../src/policies/status-sync/write-back-off.ts';

test('it doubles from 1 s to 10 s, and is at least what the server asks for', () => {
  expect([1, 2, 3, 4, 5, 100].map((failures) => writeBackOffMs(failures))).toEqual([
    1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
  ]);
  expect(writeBackOffMs(1, 60_000)).toBe(60_000);
});
