import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { isStale } from '../../scripts/is-stale.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-stale-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(name: string, atSeconds: number): void {
  const file = join(dir, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  utimesSync(file, atSeconds, atSeconds);
}
/** After all files: writing a file changes the time of its folder. */
const setTime = (name: string, atSeconds: number) => utimesSync(join(dir, name), atSeconds, atSeconds);
const stale = (...sources: string[]) =>
  isStale(
    join(dir, 'target'),
    sources.map((source) => join(dir, source)),
  );

test('a target that is missing is stale', () => {
  write('source', 1);
  expect(stale('source')).toBe(true);
});

test('a target is stale when one of its sources is newer', () => {
  write('target', 2);
  write('old', 1);
  write('new', 3);
  expect([stale('old'), stale('old', 'new')]).toEqual([false, true]);
});

test('of a folder everything counts, and the folder itself, from which a file may have been removed', () => {
  write('target', 2);
  write('folder/deep/file', 1);
  setTime('folder/deep', 1);
  setTime('folder', 1);
  expect(stale('folder')).toBe(false);
  setTime('folder/deep/file', 3);
  expect(stale('folder')).toBe(true);
  setTime('folder/deep/file', 1);
  setTime('folder/deep', 3);
  expect(stale('folder')).toBe(true);
});
