import { existsSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { makeFolder, makeFolderSync } from '../../src/system/make-folder.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'statelet-folder-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe.each([
  ['makeFolder', makeFolder],
  [
    'makeFolderSync',
    (path: string, mode?: number) => Promise.resolve().then(() => makeFolderSync(path, mode)),
  ],
])('%s', (_, make) => {
  test('makes a folder with its parents, and accepts one that exists, also behind a link', async () => {
    const path = join(dir, 'a', 'b', 'c');
    expect([await make(path, 0o700), await make(path, 0o755)]).toEqual([true, false]);
    expect((await stat(path)).isDirectory()).toBe(true);
    const modes = [path, join(dir, 'a', 'b'), join(dir, 'a')].map(
      async (one) => (await stat(one)).mode & 0o777,
    );
    expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o700]);
    symlinkSync(path, join(dir, 'link'));
    expect([await make(join(dir, 'link')), await make(join(dir, 'link', 'd'))]).toEqual([false, true]);
    expect([await make('/'), await make('.')]).toEqual([false, false]);
  });

  test('rejects with the error of the system when a file is there, or a link to nothing', async () => {
    await writeFile(join(dir, 'file'), '');
    symlinkSync(join(dir, 'nothing'), join(dir, 'link'));
    await expect(make(join(dir, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(make(join(dir, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(make(join(dir, 'link', 'a'))).rejects.toMatchObject({ code: 'EEXIST' });
  });

  test('ends where the kernel allows no folder', async () => {
    await expect(make('/proc/statelet/a/b')).rejects.toThrow('no folder can be made in /proc');
    await expect(make('/proc/statelet')).rejects.toMatchObject({ code: 'ENOENT' });
    expect(existsSync('/proc/statelet')).toBe(false);
  });
});
