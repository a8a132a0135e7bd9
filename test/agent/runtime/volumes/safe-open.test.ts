import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openInVolume, readInVolume } from '../../../../src/agent/runtime/volumes/safe-open.ts';
import { placeOf } from '../../../../src/system/files/open-place.ts';
import { openBelow } from '../../../support/held-open.ts';
import { modeOf, run } from './bed.ts';

let dir: string;
let volume: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'statelet-open-')));
  volume = join(dir, 'volume');
  mkdirSync(volume);
  mkdirSync(join(dir, 'outside'));
  writeFileSync(join(dir, 'outside/secret'), 'secret');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('missing folders are created, with the mode of the root of the volume', async () => {
  run('chmod', '2770', volume);
  const handle = await openInVolume(volume, ['a', 'b']);
  try {
    expect(realpathSync(placeOf(handle))).toBe(join(volume, 'a/b'));
    expect([modeOf(join(volume, 'a')), modeOf(join(volume, 'a/b'))]).toEqual(['2770', '2770']);
  } finally {
    await handle.close();
  }
});

test('a link within the volume is followed; a link that leads out of it is refused', async () => {
  mkdirSync(join(volume, 'inside'));
  symlinkSync('inside', join(volume, 'here'));
  symlinkSync('../outside', join(volume, 'there'));
  const handle = await openInVolume(volume, ['here']);
  expect(realpathSync(placeOf(handle))).toBe(join(volume, 'inside'));
  await handle.close();
  await expect(openInVolume(volume, ['there'])).rejects.toMatchObject({ kind: 'FailedPrecondition' });
});

test('a plain file is read up to a size; a missing one, a folder and a larger one are refused', async () => {
  writeFileSync(join(volume, 'file'), 'text');
  mkdirSync(join(volume, 'folder'));
  expect(await readInVolume(volume, ['file'], 4)).toBe('text');
  await expect(readInVolume(volume, ['file'], 3)).rejects.toThrow('is larger than 3 bytes');
  await expect(readInVolume(volume, ['folder'], 4)).rejects.toThrow('is not a file');
  await expect(readInVolume(volume, ['none'], 4)).rejects.toMatchObject({ kind: 'NotFound' });
  expect(readdirSync(volume).toSorted()).toEqual(['file', 'folder']);
});

test('reading a pipe is refused at once', async () => {
  run('mkfifo', join(volume, 'pipe'));
  await expect(readInVolume(volume, ['pipe'], 4)).rejects.toThrow('is not a file');
});

/** Exchanges a folder and a link to the outside as fast as possible, in another thread. */
const SWAP = `
  const { renameSync, rmSync } = require('node:fs');
  const { workerData: { at, folder, link, stop } } = require('node:worker_threads');
  const flag = new Int32Array(stop);
  function move(from, to) {
    for (;;) {
      try { return renameSync(from, to); }
      // openInVolume has created a folder here between the two renames.
      catch { try { rmSync(to, { recursive: true, force: true }); } catch {} }
    }
  }
  while (Atomics.load(flag, 0) === 0) {
    move(at, folder); move(link, at);
    move(at, link); move(folder, at);
    Atomics.store(flag, 1, 1); Atomics.notify(flag, 1);
  }`;

test('a container that replaces folders by links meanwhile cannot lead to a file outside', async () => {
  mkdirSync(join(volume, 'a'));
  writeFileSync(join(volume, 'a/secret'), 'ours');
  symlinkSync(join(dir, 'outside'), join(volume, 'link'));
  const ours = statSync(join(volume, 'a/secret')).ino;
  const stop = new SharedArrayBuffer(8);
  const workerData = {
    at: join(volume, 'a'),
    folder: join(volume, 'hidden'),
    link: join(volume, 'link'),
    stop,
  };
  const worker = new Worker(SWAP, { eval: true, workerData });
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  const flag = new Int32Array(stop);
  await Atomics.waitAsync(flag, 1, 0).value;
  let opened = 0;
  try {
    for (let i = 0; i < 500; i++) {
      const handle = await openInVolume(volume, ['a', 'secret']).catch(() => undefined);
      if (handle === undefined) continue;
      const { ino } = await handle.stat();
      await handle.close();
      // Any other file is in a folder that was created in the volume between the two renames.
      if (ino === ours) opened++;
      else expect(ino).not.toBe(statSync(join(dir, 'outside/secret')).ino);
    }
  } finally {
    Atomics.store(flag, 0, 1);
    await ended;
  }
  expect(opened).toBeGreaterThan(0);
  expect(readdirSync(join(dir, 'outside'))).toEqual(['secret']);
});

test('no file stays open, after a success or a failure', async () => {
  mkdirSync(join(volume, 'a/b'), { recursive: true });
  writeFileSync(join(volume, 'file'), '');
  symlinkSync(join(dir, 'outside'), join(volume, 'link'));
  const handle = await openInVolume(volume, ['a', 'b', 'c', 'd']);
  expect(openBelow(dir)).toBe(1);
  await handle.close();
  for (const names of [['link'], ['file', 'below'], ['a', 'x'.repeat(300)]]) {
    await expect(openInVolume(volume, names)).rejects.toThrow();
  }
  expect(openBelow(dir)).toBe(0);
  rmSync(join(volume, 'a'), { recursive: true });
});
