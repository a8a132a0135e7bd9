/** Files of this machine and user, where something else may stand by now: a link, a pipe, a folder. */
import { chmodSync, closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { StateletError } from '../types/errors.ts';
import { O_PATH } from './files/open-place.ts';
import { errnoCode } from './system-errors.ts';

const OWNER_ONLY = 0o600;

/**
 * Opens a plain file. No link is followed, and a pipe does not block. Throws the system's error, or a StateletError of kind
 * FailedPrecondition for what is not a file. A file whose mode shuts out its own owner gets the mode 0600.
 */
export function openPlainFile(path: string, flags: number): number {
  const open = () => openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, OWNER_ONLY);
  return checkedFile(path, openOrGiveAccess(path, open));
}

function checkedFile(path: string, fd: number): number {
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new StateletError('FailedPrecondition', `${path} is not a file`);
}

/**
 * The whole text of a plain file, as `openPlainFile` opens it. Throws also where the file is larger than `bytesMax`. `followsLinks`: for
 * a file of the machine, such as `/etc/hosts`, which may be a link.
 */
export function readPlainFile(path: string, bytesMax: number, { followsLinks = false } = {}): string {
  const fd = followsLinks
    ? checkedFile(path, openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY))
    : openPlainFile(path, constants.O_RDONLY);
  try {
    const { size } = fstatSync(fd);
    if (size > bytesMax) {
      throw new StateletError('FailedPrecondition', `${path} is larger than ${bytesMax} bytes`);
    }
    const bytes = Buffer.alloc(size);
    let length = 0;
    for (let read = -1; read !== 0 && length < size; length += read) {
      read = readSync(fd, bytes, length, size - length, length);
    }
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(fd);
  }
}

function openOrGiveAccess(path: string, open: () => number): number {
  try {
    return open();
  } catch (error) {
    if (errnoCode(error) !== 'EACCES' || !giveOwnerAccess(path)) throw error;
    return open();
  }
}

/** Goes through an open descriptor: if a link is put at the path meanwhile, it is not followed. */
function giveOwnerAccess(path: string): boolean {
  let place: number | undefined;
  try {
    place = openSync(path, O_PATH | constants.O_NOFOLLOW);
    if (!isOwnFile(fstatSync(place))) return false;
    chmodSync(`/proc/self/fd/${place}`, OWNER_ONLY);
    return true;
  } catch {
    return false;
  } finally {
    if (place !== undefined) closeSync(place);
  }
}

function isOwnFile(stats: Stats): boolean {
  return stats.isFile() && stats.uid === process.getuid?.();
}
