import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { makeFolder } from '../../src/system/make-folder.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'statelet-folder-'));
});
afterEach(() => rm(dir, { recursive: true }));

test('makes a folder with its parents, and accepts one that exists', async () => {
  const path = join(dir, 'a', 'b', 'c');
  await makeFolder(path);
  await makeFolder(path);
  expect((await stat(path)).isDirectory()).toBe(true);
});

test('rejects with the error of the system when a parent is a file', async () => {
  await writeFile(join(dir, 'file'), '');
  await expect(makeFolder(join(dir, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});
