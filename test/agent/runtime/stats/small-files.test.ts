import { describe, expect, test } from '@jest/globals';
import {
  OpenFile,
  ioStatBytes,
  meminfoBytes,
  numberIn,
  pressureIn,
  processIOBytes,
  readLongFile,
  readSmallFile,
  valueOf,
} from '../../../../src/agent/runtime/stats/small-files.ts';
import { waitFor } from '../../../support/wait-for.ts';

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

test('each read of a file that stays open returns its present content; after closing, the file can be read again', async () => {
  const uptime = new OpenFile('/proc/uptime');
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

test.each([
  ['42\n', 42],
  ['max\n', undefined],
  ['', undefined],
  [undefined, undefined],
])('the number in %j is %s', (text, expected) => {
  expect(numberIn(text)).toBe(expected);
});

describe('the value of a key', () => {
  const text = 'cache 1\nrss 2\ntotal_rss 3\n';

  test.each([
    ['cache', 1],
    ['rss', 2],
    ['total_rss', 3],
    ['total', undefined],
  ])('%s: %s', (key, expected) => {
    expect(valueOf(text, key)).toBe(expected);
  });

  test('of /proc/meminfo is in KiB', () => {
    expect(meminfoBytes('MemTotal:       2048 kB\nMemFree:  1 kB\n', 'MemTotal')).toBe(2 * 2 ** 20);
  });
});

describe('pressure', () => {
  const some = 'some avg10=1.50 avg60=2.00 avg300=0.10 total=12345';
  const read = { avg10: 1.5, avg60: 2, avg300: 0.1, total: 12345 };
  const none = { avg10: 0, avg60: 0, avg300: 0, total: 0 };

  test('is read from two lines: some tasks wait, and all tasks wait', () => {
    expect(pressureIn(`${some}\n${some.replace('some', 'full')}\n`)).toEqual({ some: read, full: read });
  });

  test('is zero if its line is missing', () => {
    expect(pressureIn(`${some}\n`)).toEqual({ some: read, full: none });
  });

  test.each([undefined, ''])('is not known from %j', (text) => {
    expect(pressureIn(text)).toBeUndefined();
  });
});

test('io.stat: reads and writes of all devices are added; other counters are ignored', () => {
  const text =
    '8:0 rbytes=4096 wbytes=1 rios=7 wios=7 dbytes=9 dios=9\n8:16 rbytes=10 wbytes=20 rios=1 wios=1\n';
  expect(ioStatBytes(text)).toBe(4096 + 1 + 10 + 20);
});

test('/proc/<pid>/io: only I/O that reached a disk counts', () => {
  const text = 'rchar: 100\nwchar: 200\nread_bytes: 30\nwrite_bytes: 4\ncancelled_write_bytes: 1\n';
  expect([processIOBytes(text), processIOBytes(undefined)]).toEqual([34, undefined]);
});
