/**
 * Keeps the files of tests in memory, if this machine has room there. On a disk, ext4 looks at all files that were removed in the last minutes
 * whenever one is made. Tests make and remove so many that this takes a third of the CPU time of some folders.
 */
import { readFileSync, statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
const DISK = '/var/tmp';
/** Far more than all workers use at once. Containers often have 64 MB there. */
const ROOM_BYTES = 2 ** 30;

/** For all tests of a run. If TMPDIR is set, nothing is changed. */
export function keepFilesInMemory(): void {
  if (process.env.TMPDIR === undefined && isUsable()) process.env.TMPDIR = MEMORY;
}

/** For a test file that measures a disk: puts its files on one. */
export function keepFilesOnDisk(): void {
  if (process.env.TMPDIR === MEMORY) process.env.TMPDIR = DISK;
}

/** The folder must allow programs: tests start them from their folders. */
function isUsable(): boolean {
  const mounts = process.platform === 'linux' ? readFileSync('/proc/mounts', 'utf8').split('\n') : [];
  const options = mounts.map((line) => line.split(' ')).find(([, path]) => path === MEMORY)?.[3];
  if (options === undefined || options.split(',').includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}
