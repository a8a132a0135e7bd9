import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openPlainFile, readPlainFile } from '../../src/system/plain-file.ts';
import { testAsRoot } from '../support/as-root.ts';

const MODULE = new URL('../../src/system/plain-file.ts', import.meta.url).href;
const NOBODY = 65_534;

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-plain-'));
  path = join(dir, 'file');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a file is read to its end', () => {
  writeFileSync(path, 'grüße\n');
  expect(readPlainFile(path, 8)).toBe('grüße\n');
  writeFileSync(path, '');
  expect(readPlainFile(path, 8)).toBe('');
});

test('a larger file than is allowed is not read, a missing one is an error of the system', () => {
  writeFileSync(path, '123456789');
  expect(() => readPlainFile(path, 8)).toThrow(`${path} is larger than 8 bytes`);
  expect(() => readPlainFile(join(dir, 'none'), 8)).toThrow('ENOENT');
});

test('a named pipe does not block, whichever way it is opened', () => {
  execFileSync('mkfifo', [path]);
  expect(() => readPlainFile(path, 8)).toThrow(`${path} is not a file`);
  expect(() => openPlainFile(path, constants.O_RDWR)).toThrow(`${path} is not a file`);
  expect(() => openPlainFile(path, constants.O_WRONLY)).toThrow('ENXIO');
});

test('folders and links are refused, also links to files', () => {
  mkdirSync(path);
  expect(() => readPlainFile(path, 8)).toThrow(`${path} is not a file`);
  const link = join(dir, 'link');
  writeFileSync(join(dir, 'target'), 'secret');
  symlinkSync(join(dir, 'target'), link);
  expect(() => readPlainFile(link, 8)).toThrow('ELOOP');
});

test('of the machine’s own files a link is followed, but not to a pipe or into a file of the kernel without a size', () => {
  const link = join(dir, 'link');
  const read = () => readPlainFile(link, 8, { followsLinks: true });
  symlinkSync(path, link);
  writeFileSync(path, 'text');
  expect(read()).toBe('text');
  rmSync(path);
  execFileSync('mkfifo', [path]);
  expect(read).toThrow(`${link} is not a file`);
  rmSync(path);
  symlinkSync('/proc/kmsg', path);
  expect(read()).toBe('');
});

test('a file that is made belongs to its owner alone', () => {
  closeSync(openPlainFile(path, constants.O_WRONLY | constants.O_CREAT));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

testAsRoot(
  'a file whose mode shuts out its own user is opened to it; one of another user is not',
  async () => {
    chmodSync(dir, 0o711);
    const [own, others] = [join(dir, 'own'), join(dir, 'others')];
    for (const file of [own, others]) writeFileSync(file, 'text', { mode: 0 });
    chownSync(own, NOBODY, NOBODY);
    const read = (file: string) =>
      `import(${JSON.stringify(MODULE)}).then(({ readPlainFile }) => console.log(readPlainFile(${JSON.stringify(file)}, 8)))`;
    const asNobody = (file: string) =>
      spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', read(file)], {
        uid: NOBODY,
        gid: NOBODY,
        cwd: dir,
        encoding: 'utf8',
      });
    expect(asNobody(own)).toMatchObject({ stdout: 'text\n', status: 0 });
    expect(statSync(own).mode & 0o777).toBe(0o600);
    expect(asNobody(others).stderr).toContain('EACCES');
    expect(statSync(others).mode & 0o777).toBe(0);
    await Promise.resolve();
  },
);
