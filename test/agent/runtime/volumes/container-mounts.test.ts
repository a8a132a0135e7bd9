import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  makeTerminationFile,
  writeHostsFile,
} from '../../../../src/agent/runtime/volumes/container-mounts.ts';
import { modeOf } from './bed.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-files-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

test('the hosts file is written in place, as running containers have mounted it', async () => {
  const file = join(dir, 'etc-hosts');
  await writeHostsFile(file, 'one\n');
  const { ino, mtimeNs } = statSync(file, { bigint: true });
  await writeHostsFile(file, 'one\n');
  expect(statSync(file, { bigint: true }).mtimeNs).toBe(mtimeNs);
  await writeHostsFile(file, 'two\n');
  expect(statSync(file, { bigint: true }).ino).toBe(ino);
  expect(readFileSync(file, 'utf8')).toBe('two\n');
  expect(modeOf(file)).toBe('644');
});

test('a hosts file that a container has filled is not read, but written anew', async () => {
  const file = join(dir, 'etc-hosts');
  writeFileSync(file, '');
  // More than a process can have in memory.
  truncateSync(file, 2 ** 40);
  await writeHostsFile(file, 'one\n');
  expect(readFileSync(file, 'utf8')).toBe('one\n');
});

test('a link in place of a hosts file or a termination file is not followed', async () => {
  const outside = join(dir, 'outside');
  writeFileSync(outside, 'kept');
  symlinkSync(outside, join(dir, 'etc-hosts'));
  symlinkSync(outside, join(dir, '00000000'));
  await expect(writeHostsFile(join(dir, 'etc-hosts'), 'one\n')).rejects.toMatchObject({ code: 'ELOOP' });
  await expect(makeTerminationFile(dir, 0)).rejects.toMatchObject({ code: 'ELOOP' });
  expect(readFileSync(outside, 'utf8')).toBe('kept');
});

test('a termination file is empty and every user may write it, whatever the umask', async () => {
  const before = process.umask(0o077);
  try {
    const file = await makeTerminationFile(join(dir, 'main'), 10);
    expect(file).toBe(join(dir, 'main', '0000000a'));
    expect([modeOf(file), readFileSync(file, 'utf8')]).toEqual(['666', '']);
  } finally {
    process.umask(before);
  }
});

test('a repeated attempt of an instance uses the same file, and empties it', async () => {
  const file = await makeTerminationFile(dir, 0);
  writeFileSync(file, 'of the first try');
  expect(await makeTerminationFile(dir, 0)).toBe(file);
  expect(readFileSync(file, 'utf8')).toBe('');
});

test('the files of the last three instances are kept', async () => {
  for (let attempt = 0; attempt < 5; attempt++) await makeTerminationFile(dir, attempt);
  expect(readdirSync(dir).toSorted()).toEqual(['00000002', '00000003', '00000004']);
  expect(existsSync(join(dir, '00000001'))).toBe(false);
});
