import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { writePayload } from '../../../../../src/agent/runtime/volumes/kinds/atomic-writer.ts';
import { silentLogger } from '../../../../support/silent-logger.ts';
import { modeOf } from '../bed.ts';

const NOW_MS = Date.UTC(2030, 0, 2, 3, 4, 5);

let volume: string;
beforeEach(() => {
  volume = mkdtempSync(join(tmpdir(), 'statelet-writer-'));
});
afterEach(() => rmSync(volume, { recursive: true }));

const write = (files: Readonly<Record<string, string>>, nowMs = NOW_MS) => {
  const payload = new Map(
    Object.entries(files).map(([path, content]) => [path, { path, content, mode: 0o640 }]),
  );
  return writePayload(volume, payload, { fsGroup: undefined, logger: silentLogger }, nowMs);
};
const read = (path: string) => readFileSync(join(volume, path), 'utf8');
const version = () => readlinkSync(join(volume, '..data'));

test('files are links into one version, whose name has the time', async () => {
  await write({ labels: 'a', 'conf/name': 'b' });
  expect([read('labels'), read('conf/name')]).toEqual(['a', 'b']);
  expect(version()).toMatch(/^\.\.2030_01_02_03_04_05\./);
  expect(readlinkSync(join(volume, 'conf'))).toBe('..data/conf');
  expect(modeOf(join(volume, 'labels'))).toBe('640');
});

test('unchanged files are not written again; changed files make a new version, which replaces the old one', async () => {
  await write({ labels: 'a', old: 'x' });
  const first = version();
  await write({ labels: 'a', old: 'x' }, NOW_MS + 1000);
  expect(version()).toBe(first);
  await write({ labels: 'b' }, NOW_MS + 1000);
  expect(version()).not.toBe(first);
  expect(readdirSync(volume).toSorted()).toEqual([version(), '..data', 'labels'].toSorted());
  expect(read('labels')).toBe('b');
});

test('unfinished files of a killed agent are removed', async () => {
  mkdirSync(join(volume, '..2029_01_01_00_00_00.left'));
  symlinkSync('..2029_01_01_00_00_00.left', join(volume, '..data_tmp'));
  await write({ labels: 'a' });
  expect(readdirSync(volume).toSorted()).toEqual([version(), '..data', 'labels'].toSorted());
});

test('a version that cannot be written completely is removed, and the old version stays', async () => {
  await write({ labels: 'a' });
  const first = version();
  await expect(write({ labels: 'b', ['x'.repeat(300)]: 'c' }, NOW_MS + 1000)).rejects.toMatchObject({
    code: 'ENAMETOOLONG',
  });
  expect(readdirSync(volume).toSorted()).toEqual([first, '..data', 'labels'].toSorted());
  expect(read('labels')).toBe('a');
});
