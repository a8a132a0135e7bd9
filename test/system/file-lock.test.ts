import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { lockFile, lookAtLock, type FileLock, type HeldLock } from '../../src/system/file-lock.ts';

let dir: string;
let path: string;
let lock: FileLock | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-lock-'));
  path = join(dir, 'lock');
});
afterEach(() => {
  lock?.release();
  lock = undefined;
  rmSync(dir, { recursive: true });
});

function locked(result: FileLock | HeldLock): FileLock {
  if (!('release' in result)) throw new Error(`held by ${result.holder}`);
  lock = result;
  return result;
}
/** Whether another process can take the lock. */
const isFree = () => spawnSync('flock', ['-n', '-x', path, 'true']).status === 0;

test('the lock holds against other processes, and is released once', () => {
  const held = locked(lockFile(path));
  expect(isFree()).toBe(false);
  held.release();
  held.release();
  expect(isFree()).toBe(true);
});

test('for a locked file, the process with the lock is returned', () => {
  locked(lockFile(path));
  expect(lockFile(path)).toEqual({ holder: process.pid });
  writeFileSync(path, 'no number\n');
  expect(lockFile(path)).toEqual({ holder: undefined });
});

test('the file belongs to its owner alone, and has the process ID at a fixed length', () => {
  writeFileSync(path, '1'.repeat(40), { mode: 0o666 });
  locked(lockFile(path));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8').slice(0, 11)).toBe(`${String(process.pid).padEnd(10)}\n`);
});

test('a link is not followed, and a missing folder is an error of the system', () => {
  symlinkSync(join(dir, 'target'), path);
  expect(() => lockFile(path)).toThrow('ELOOP');
  expect(() => lockFile(join(dir, 'missing', 'lock'))).toThrow('ENOENT');
});

test('a lock can be looked at without taking it', () => {
  expect(lookAtLock(path)).toEqual({ isHeld: false, holder: undefined });
  const held = locked(lockFile(path));
  expect(lookAtLock(path)).toEqual({ isHeld: true, holder: process.pid });
  held.release();
  expect(lookAtLock(path)).toEqual({ isHeld: false, holder: undefined });
  expect(lookAtLock(join(path, 'below-a-file'))).toEqual({ isHeld: false, holder: undefined });
});
