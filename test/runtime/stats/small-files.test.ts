import { expect, test } from '@jest/globals';
import { waitFor } from '../../support/wait-for.ts';
import { HeldFile, readLongFile, readSmallFile } from '../../../src/runtime/stats/small-files.ts';

/** It has one record for each mapping; one read returns one page at most. */
const MAPS = '/proc/self/maps';
const PAGE_BYTES = 4096;

test('a file that the kernel writes record by record is read to its end', () => {
  expect(readSmallFile(MAPS)?.length).toBeLessThanOrEqual(PAGE_BYTES);
  const maps = readLongFile(MAPS) ?? '';
  expect(maps.length).toBeGreaterThan(PAGE_BYTES);
  expect(maps).toContain('[stack]');
  expect(maps.endsWith('\n')).toBe(true);
});

test('each read of a held file returns its present content; after closing, the file can be read again', async () => {
  const uptime = new HeldFile('/proc/uptime');
  const first = uptime.read();
  expect(first).toMatch(/^[\d.]+ [\d.]+\n$/);
  await waitFor(() => uptime.read() !== first, { what: 'time to go by' });
  uptime.close();
  expect(uptime.read()).toMatch(/^[\d.]+ [\d.]+\n$/);
  uptime.close();
});

test('a missing file is undefined, an empty file is an empty text', () => {
  expect([readSmallFile('/proc/none'), readLongFile('/proc/none')]).toEqual([undefined, undefined]);
  expect([readSmallFile('/dev/null'), readLongFile('/dev/null')]).toEqual(['', '']);
});
