/** Locks that the kernel keeps on a file: they go with the process that holds them, however that ends. */
import { spawnSync } from 'node:child_process';
import { closeSync, constants, fchmodSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { StateletError } from '../types/errors.ts';
import { errnoCode } from './system-errors.ts';

export interface FileLock {
  release(): void;
}

/** Another process has the lock; its process ID where the file tells one. */
export interface HeldLock {
  readonly holder: number | undefined;
}

/** Where flock(1) is, for a process that was started without a PATH. */
const DEFAULT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
/** What flock(1) ends with when another process has the lock. */
const IS_HELD = 1;
/** Every process ID fits: a file that keeps its length needs no room on a disk that has become full. */
const PID_LENGTH = 10;

/**
 * Locks the file without waiting, and makes it where it does not exist. Throws the error of the system where the file can
 * be neither made nor opened.
 *
 * Node has no flock(2). The lock belongs to the open file, which flock(1) shares while it runs, and so stays with this
 * process after flock(1) has ended. Programs that this process starts do not get the descriptor.
 */
export function lockFile(path: string): FileLock | HeldLock {
  const fd = open(path);
  try {
    if (!flock(fd, path)) {
      const held = { holder: readPid(fd) };
      closeSync(fd);
      return held;
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  writePid(fd);
  return { release: once(() => closeSync(fd)) };
}

/** Only its owner may open the file: whoever can open a file can lock it. */
function open(path: string): number {
  const { O_RDWR, O_RDONLY, O_CREAT, O_NOFOLLOW } = constants;
  try {
    const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    // A file system that has become read-only can still be locked.
    if (errnoCode(error) !== 'EROFS') throw error;
    try {
      return openSync(path, O_RDONLY | O_NOFOLLOW);
    } catch {
      throw error;
    }
  }
}

/** False where another process has the lock. */
function flock(fd: number, path: string): boolean {
  const { status, signal, error, stderr } = spawnSync('flock', ['-n', '-x', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
    env: { PATH: process.env.PATH ?? DEFAULT_PATH },
    encoding: 'utf8',
  });
  if (status === 0) return true;
  const said = (error ? error.message : stderr).trim();
  if (status === IS_HELD && said === '') return false;
  const ending = said || `flock(1) ended with ${status ?? signal ?? 'nothing'}`;
  const cause = errnoCode(error) === 'ENOENT' ? 'the program flock of util-linux is not installed' : ending;
  throw new StateletError('FailedPrecondition', `${path} cannot be locked: ${cause}`, { cause: error });
}

/** For those who find the file locked. The lock holds without it. */
function writePid(fd: number): void {
  try {
    writeSync(fd, `${String(process.pid).padEnd(PID_LENGTH)}\n`, 0);
  } catch {
    forgetPid(fd);
  }
}

/** The disk is full: better no process ID than that of a former holder. */
function forgetPid(fd: number): void {
  try {
    ftruncateSync(fd);
  } catch {
    // It is a read-only file system.
  }
}

function readPid(fd: number): number | undefined {
  const pid = /^(\d{1,10})\s/.exec(readFileSync(fd, 'utf8'))?.[1];
  return pid === undefined ? undefined : Number(pid);
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
