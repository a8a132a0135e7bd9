import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type KernelWatch, kernelWatch } from '../../src/system/kernel-watch.ts';

let folder: string;
let watch: KernelWatch;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statelet-watch-'));
});
afterEach(async () => {
  watch.close();
  await rm(folder, { recursive: true, force: true });
});

test('an event names the file in the folder', async () => {
  const named = new Promise((resolve) => {
    watch = kernelWatch(folder, (_, file) => resolve(file));
  });
  await writeFile(join(folder, 'a'), '');
  expect(await named).toBe('a');
});

test('a path that does not exist is no failure, and a path that cannot be watched is one', () => {
  watch = kernelWatch(join(folder, 'none'), () => undefined);
  expect(watch.failure).toBeUndefined();
  expect(kernelWatch(join(folder, 'x'.repeat(5000)), () => undefined).failure).toContain('ENAMETOOLONG');
});
