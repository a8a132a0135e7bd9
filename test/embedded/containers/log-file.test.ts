import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogFile } from '../../../src/embedded/containers/log-file.ts';

describe('a log file', () => {
  let dir: string;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-'));
  });

  afterAll(() => rmSync(dir, { recursive: true }));

  test('has all text in order; `behind` is true while much waits to be written', async () => {
    const file = new LogFile(join(dir, 'deep', 'er', '0.log'), () => undefined);
    const texts = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(1000)}\n`);
    for (const text of texts) file.append(text);
    expect(file.behind).toBe(true);
    await file.whenIdle();
    expect(file.behind).toBe(false);
    await file.close();
    expect(readFileSync(join(dir, 'deep', 'er', '0.log'), 'latin1')).toBe(texts.join(''));
  });

  test.each([
    ['a pipe', 'mkfifo'],
    ['a link', 'ln -s /dev/null'],
  ])('is not opened where there is %s: whoever writes would wait, or write elsewhere', (what, command) => {
    const path = join(dir, `${what}.log`);
    execFileSync('sh', ['-c', `${command} "$1"`, 'sh', path]);
    expect(() => new LogFile(path, () => undefined)).toThrow(/ENXIO|ELOOP/);
  });

  test('is not opened where there is a pipe with a reader, which would take what belongs to the log', () => {
    const path = join(dir, 'read.log');
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    expect(() => new LogFile(path, () => undefined)).toThrow(`${path} is not a file but a named pipe`);
    closeSync(reader);
  });

  test('that exists is appended to', async () => {
    for (const text of ['first\n', 'second\n']) {
      const file = new LogFile(join(dir, 'twice.log'), () => undefined);
      file.append(text);
      await file.close();
    }
    expect(readFileSync(join(dir, 'twice.log'), 'latin1')).toBe('first\nsecond\n');
  });

  test('goes on in a new file after it was moved away and reopened; no line is lost or torn', async () => {
    const path = join(dir, 'moved.log');
    const file = new LogFile(path, () => undefined);
    const texts = Array.from({ length: 500 }, (_, index) => `${index} ${'x'.repeat(1000)}\n`);
    for (const text of texts.slice(0, 300)) file.append(text);
    renameSync(path, `${path}.old`);
    await file.reopen();
    const old = readFileSync(`${path}.old`, 'latin1');
    for (const text of texts.slice(300)) file.append(text);
    await file.close();
    expect(readFileSync(`${path}.old`, 'latin1')).toBe(old);
    expect(old).toMatch(/^0 x{1000}\n(.*\n)*$/);
    expect(old + readFileSync(path, 'latin1')).toBe(texts.join(''));
  });

  test('goes on with the old file if it cannot be reopened', async () => {
    const path = join(dir, 'stays.log');
    const file = new LogFile(path, () => undefined);
    renameSync(path, `${path}.old`);
    mkdirSync(path);
    await expect(file.reopen()).rejects.toThrow('EISDIR');
    file.append('kept\n');
    await file.close();
    expect(readFileSync(`${path}.old`, 'latin1')).toBe('kept\n');
  });

  test('on a full disk loses text, and reports it once', async () => {
    const troubles: Error[] = [];
    const file = new LogFile('/dev/full', (error) => troubles.push(error));
    for (let round = 0; round < 3; round++) {
      file.append('lost\n');
      await file.whenIdle();
    }
    await file.close();
    expect(troubles.map(({ message }) => message)).toEqual([expect.stringContaining('ENOSPC')]);
  });
});

const asRoot = process.getuid?.() === 0 ? describe : describe.skip;

asRoot('a log file on a disk that gets full', () => {
  let disk: string;

  beforeEach(() => {
    disk = mkdtempSync(join(tmpdir(), 'statelet-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
  });

  afterEach(() => {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  const LINE = /^\d+ x{100}$/;
  const lines = (from: number, count: number): string =>
    Array.from({ length: count }, (_, index) => `${from + index} ${'x'.repeat(100)}\n`).join('');

  test('has whole lines only, also those that follow once the disk has space', async () => {
    const path = join(disk, '0.log');
    const troubles: Error[] = [];
    writeFileSync(join(disk, 'filler'), Buffer.alloc(16_384));
    const file = new LogFile(path, (error) => troubles.push(error));
    file.append(lines(0, 1000));
    await file.whenIdle();
    const full = readFileSync(path, 'latin1').split('\n');
    rmSync(join(disk, 'filler'));
    file.append(lines(1000, 10));
    await file.close();
    const all = readFileSync(path, 'latin1').split('\n');
    expect(troubles).toHaveLength(1);
    expect(full.length).toBeGreaterThan(100);
    expect(all.filter((line) => !LINE.test(line))).toEqual(['']);
    expect(all.slice(full.length - 1, -1)).toEqual(lines(1000, 10).trimEnd().split('\n'));
  });

  test('has whole lines in both files if it is reopened meanwhile', async () => {
    const path = join(disk, '0.log');
    const file = new LogFile(path, () => undefined);
    file.append(lines(0, 1000));
    renameSync(path, `${path}.old`);
    await file.reopen();
    rmSync(`${path}.old`);
    file.append(lines(1000, 10));
    await file.close();
    expect(readFileSync(path, 'latin1')).toBe(lines(1000, 10));
  });
});
