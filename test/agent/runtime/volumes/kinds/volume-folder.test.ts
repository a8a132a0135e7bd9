import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  makeVolumeFolder,
  mountVolumeFolder,
} from '../../../../../src/agent/runtime/volumes/kinds/volume-folder.ts';
import { silentLogger } from '../../../../support/silent-logger.ts';
import { describeAsRoot, modeOf, run } from '../bed.ts';

const OWNERSHIP = { fsGroup: undefined, logger: silentLogger };

let dir: string;
let folder: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-folder-'));
  folder = join(dir, 'volumes', 'kubernetes.io~empty-dir', 'data');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('every user may write the root of a volume; only the agent has access to the folders above it', async () => {
  await makeVolumeFolder(folder, OWNERSHIP);
  expect(modeOf(folder)).toBe('777');
  expect(modeOf(join(dir, 'volumes'))).toBe('750');
  expect(readdirSync(join(folder, '..'))).toEqual(['data']);
});

test('a folder that exists is not touched', async () => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await makeVolumeFolder(folder, OWNERSHIP);
  expect(modeOf(folder)).toBe('700');
});

test('an unfinished folder of a killed agent is finished', async () => {
  mkdirSync(join(folder, '..', '.data'), { recursive: true });
  await makeVolumeFolder(folder, OWNERSHIP);
  expect(modeOf(folder)).toBe('777');
  expect(readdirSync(join(folder, '..'))).toEqual(['data']);
});

describeAsRoot('as root', () => {
  test('the folder gets the fsGroup, and new files in it have that group', async () => {
    await makeVolumeFolder(folder, { ...OWNERSHIP, fsGroup: 4242 });
    expect([statSync(folder).gid, modeOf(folder)]).toEqual([4242, '2777']);
  });

  test('a file system is mounted once', async () => {
    const filesystem = { type: 'tmpfs', options: ['size=65536'] } as const;
    try {
      await mountVolumeFolder(folder, filesystem);
      const { dev } = statSync(folder);
      await mountVolumeFolder(folder, filesystem);
      expect(statSync(folder).dev).toBe(dev);
      expect(dev).not.toBe(statSync(dir).dev);
    } finally {
      run('umount', folder);
    }
    expect(existsSync(folder)).toBe(true);
  });
});
