import { expect, test } from '@jest/globals';
import { readLongFile, readSmallFile } from '../../../src/runtime/stats/small-files.ts';

/** Of many records, one for each mapping; the kernel hands them out a page at a time. */
const MAPS = '/proc/self/maps';
const PAGE_BYTES = 4096;

test('a file that the kernel writes record by record is read to its end', () => {
  expect(readSmallFile(MAPS)?.length).toBeLessThanOrEqual(PAGE_BYTES);
  const maps = readLongFile(MAPS) ?? '';
  expect(maps.length).toBeGreaterThan(PAGE_BYTES);
  expect(maps).toContain('[stack]');
  expect(maps.endsWith('\n')).toBe(true);
});

test('what is not there is undefined, and what is empty is not', () => {
  expect([readSmallFile('/proc/none'), readLongFile('/proc/none')]).toEqual([undefined, undefined]);
  expect([readSmallFile('/dev/null'), readLongFile('/dev/null')]).toEqual(['', '']);
});
