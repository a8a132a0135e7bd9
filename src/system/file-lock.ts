/** Locks of the kernel on a file: the lock is released when its process ends, however it ends. */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs';
import { StateletError } from '../types/errors.ts';
import { openPlainFile } from './plain-file.ts';
import { errnoCode, isAbsence } from './system-errors.ts';

export interface FileLock {
  release(): void;
}

/** Another process has the lock; with its process ID if the file has it. */
export interface HeldLock {
  readonly holder: number | undefined;
}

/** Used to find flock(1) when the process was started without a PATH. */
const DEFAULT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
/** The exit code of flock(1) when another process has the lock. */
const IS_HELD = 1;
/** Long enough for every process ID. A file whose length does not change can be written on a full disk. */
const PID_LENGTH = 10;

/**
 * Locks the file without waiting; creates it if it does not exist. Throws the system's error when the file cannot be opened, and a
 * StateletError of kind FailedPrecondition when something else than a file stands there.
 *
 * Node has no flock(2), so the program flock(1) locks the descriptor that it inherits. The lock belongs to the open file, and
 * stays with this process after flock(1) has ended. Programs that this process starts later do not inherit the descriptor.
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

/**
 * Whether a process has the lock, without taking it: a daemon that starts at this moment must get it. Throws the system's error where the
 * file, or the kernel's list of locks, cannot be read.
 */
export function lookAtLock(path: string): { readonly isHeld: boolean; readonly holder: number | undefined } {
  let fd: number;
  try {
    fd = openPlainFile(path, constants.O_RDONLY);
  } catch (error) {
    if (isAbsence(error)) return { isHeld: false, holder: undefined };
    throw error;
  }
  try {
    const inode = `:${fstatSync(fd, { bigint: true }).ino} `;
    const locks = readFileSync('/proc/locks', 'latin1').split('\n');
    const isHeld = locks.some((line) => line.includes(' FLOCK ') && line.includes(inode));
    return { isHeld, holder: isHeld ? readPid(fd) : undefined };
  } finally {
    closeSync(fd);
  }
}

/** Only its owner may open the file, because every process that can open it could lock it. */
function open(path: string): number {
  const { O_RDWR, O_RDONLY, O_CREAT } = constants;
  try {
    const fd = openPlainFile(path, O_RDWR | O_CREAT);
    fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    // A file on a read-only file system can still be locked.
    if (errnoCode(error) !== 'EROFS') throw error;
    try {
      return openPlainFile(path, O_RDONLY);
    } catch {
      throw error;
    }
  }
}

/** False when another process has the lock. */
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

/** Other processes show the ID when they find the file locked. The lock works without it. */
function writePid(fd: number): void {
  try {
    writeSync(fd, `${String(process.pid).padEnd(PID_LENGTH)}\n`, 0);
  } catch {
    forgetPid(fd);
  }
}

/** The disk is full: the process ID of an earlier holder must not stay. */
function forgetPid(fd: number): void {
  try {
    ftruncateSync(fd);
  } catch {
    // The file system is read-only.
  }
}

function readPid(fd: number): number | undefined {
  const bytes = Buffer.alloc(PID_LENGTH + 1);
  const text = bytes.toString('latin1', 0, readSync(fd, bytes, 0, bytes.length, 0));
  const pid = /^(\d{1,10})\s/.exec(text)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
