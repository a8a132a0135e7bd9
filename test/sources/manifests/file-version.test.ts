import type { BigIntStats } from 'node:fs';
import { expect, test } from '@jest/globals';
import { fileVersion } from '../../../src/sources/manifests/file-version.ts';

const WRITTEN_MS = 1_000_000;

/** Metadata of a file that was written at `WRITTEN_MS`. */
function stats(more: Partial<Record<'dev' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs', bigint>> = {}) {
  const times = { mtimeMs: BigInt(WRITTEN_MS), ctimeMs: BigInt(WRITTEN_MS) };
  const { mtimeMs, ctimeMs, ...others } = { dev: 1n, ino: 2n, size: 3n, ...times, ...more };
  const nanoseconds = { mtimeNs: mtimeMs * 1_000_000n, ctimeNs: ctimeMs * 1_000_000n };
  return { ...others, mtimeMs, ctimeMs, ...nanoseconds } as BigIntStats;
}
const LATER_MS = WRITTEN_MS + 5_000;

test('the version of a file stays as long as its metadata does', () => {
  expect(fileVersion(stats(), LATER_MS)).toBeDefined();
  expect(fileVersion(stats(), LATER_MS + 60_000.5)).toBe(fileVersion(stats(), LATER_MS));
});

test.each([
  ['is on another device', { dev: 9n }],
  ['is another file', { ino: 9n }],
  ['has another size', { size: 9n }],
  ['was written at another time', { mtimeMs: 9n }],
  ['was changed at another time, though its modification time was set back', { ctimeMs: 999_999n }],
])('it differs when the file %s', (_what, more) => {
  expect(fileVersion(stats(more), LATER_MS)).not.toBe(fileVersion(stats(), LATER_MS));
});

test.each([
  ['less than 5 s before', LATER_MS - 1],
  ['after', WRITTEN_MS - 60_000],
])('there is none when the last change came %s the file was examined', (_when, statAt) => {
  expect(fileVersion(stats(), statAt)).toBeUndefined();
});

test('the later of both times counts', () => {
  expect(fileVersion(stats({ mtimeMs: 1n }), LATER_MS - 1)).toBeUndefined();
  expect(fileVersion(stats({ ctimeMs: 1n }), LATER_MS - 1)).toBeUndefined();
});
