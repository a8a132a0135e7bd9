import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mountsBelow, parseMountInfo } from '../../../../src/agent/policies/formats/mountinfo.ts';
import {
  bindMount,
  hasFilesystem,
  mountFilesystem,
  shareMounts,
  unmountBelow,
} from '../../../../src/agent/runtime/volumes/mounter.ts';
import { describeAsRoot, run } from './bed.ts';

describeAsRoot('the mounter', () => {
  let dir: string;
  const folder = (name: string) => join(dir, name);
  const mounts = () => parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  const mounted = () => mountsBelow(mounts(), dir);

  beforeEach(() => {
    dir = realpathSync(mkdtempSync(join(tmpdir(), 'statelet mounter-')));
    for (const name of ['one', 'two']) mkdirSync(folder(name));
  });
  afterEach(() => {
    for (const path of mounted()) run('umount', '--no-canonicalize', path);
    rmSync(dir, { recursive: true });
  });

  test('a file system in memory has its size, and is a mount point', async () => {
    expect(await hasFilesystem(folder('one'))).toBe(false);
    await mountFilesystem({ type: 'tmpfs', options: ['size=65536'] }, folder('one'));
    expect(await hasFilesystem(folder('one'))).toBe(true);
    expect(() => writeFileSync(folder('one/file'), Buffer.alloc(1 << 20))).toThrow('ENOSPC');
  });

  test('a bind mount shows the same files', async () => {
    writeFileSync(folder('one/file'), '');
    await bindMount(folder('one'), folder('two'));
    expect(readdirSync(folder('two'))).toEqual(['file']);
  });

  test('a folder that shares its mounts is mounted once, and keeps its content', async () => {
    writeFileSync(folder('one/file'), '');
    await shareMounts(folder('one'));
    await shareMounts(folder('one'));
    expect(mounts().filter(({ path }) => path === folder('one'))).toEqual([
      expect.objectContaining({ shared: true }),
    ]);
    expect(readdirSync(folder('one'))).toEqual(['file']);
  });

  test('all mounts below a folder are unmounted, also several on one path; a folder without mounts is no error', async () => {
    await mountFilesystem({ type: 'tmpfs', options: [] }, folder('one'));
    mkdirSync(folder('one/inner'));
    await bindMount(folder('two'), folder('one/inner'));
    await bindMount(folder('two'), folder('one/inner'));
    await unmountBelow(dir);
    expect(mounted()).toEqual([]);
    await unmountBelow(dir);
  });

  test('a mount in use is named in the error, and is unmounted when it is free', async () => {
    await mountFilesystem({ type: 'tmpfs', options: [] }, folder('one'));
    writeFileSync(folder('one/file'), '');
    const file = await open(folder('one/file'));
    try {
      await expect(unmountBelow(dir)).rejects.toMatchObject({
        kind: 'Internal',
        message: expect.stringContaining(`still mounted, it is tried again: ${folder('one')}`),
      });
    } finally {
      await file.close();
    }
    await unmountBelow(dir);
    expect(mounted()).toEqual([]);
  });
});
