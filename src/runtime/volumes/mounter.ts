/** Mounts and unmounts by util-linux' commands: Node has no call for it. */
import { readFile, stat } from 'node:fs/promises';
import { release } from 'node:os';
import { dirname } from 'node:path';
import type { MemoryFilesystem } from '../../policies/volumes/empty-dir.ts';
import { type MountPoint, parseMountInfo } from '../../policies/formats/mountinfo.ts';
import { mountOf, mountsBelow } from '../../policies/volumes/mount-table.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { CommandError, runCommand } from '../../system/run-command.ts';
import { errnoCode } from '../../system/system-errors.ts';

/** A filesystem that has hung must not hold up a pod for good. */
const TIMEOUT_MS = 60_000;

/** Paths are used as they are, never resolved again: what was checked is what is mounted. */
async function command(name: 'mount' | 'umount', args: readonly string[]): Promise<void> {
  try {
    const env = { ...process.env, LC_ALL: 'C' };
    await runCommand(name, ['--no-canonicalize', ...args], { timeoutMs: TIMEOUT_MS, env });
  } catch (error) {
    throw new StateletError('Internal', failureOf(name, error), { cause: error });
  }
}

function failureOf(name: string, error: unknown): string {
  if (errnoCode(error) === 'ENOENT') return `there is no ${name} command: install util-linux`;
  if (error instanceof CommandError && error.isTimeout)
    return `${name} did not return within ${TIMEOUT_MS / 1000} s`;
  return errorMessage(error);
}

export async function mountFilesystem({ type, options }: MemoryFilesystem, folder: string): Promise<void> {
  const mount = (all: readonly string[]) => command('mount', ['-t', type, '-o', all.join(','), type, folder]);
  if (type !== 'tmpfs' || !mayHaveNoswap(release())) return mount(options);
  // Not in every user namespace.
  await mount([...options, 'noswap']).catch(() => mount(options));
}

/** A tmpfs can be kept out of the swap from Linux 6.4 on. */
function mayHaveNoswap(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 4);
}

export async function bindMount(source: string, target: string): Promise<void> {
  await command('mount', ['--bind', source, target]);
}

/** Whether a filesystem of its own is mounted on the folder. Does not see bind mounts within one filesystem. */
export async function hasFilesystem(folder: string): Promise<boolean> {
  const [own, parent] = await Promise.all([stat(folder), stat(dirname(folder))]);
  return own.dev !== parent.dev;
}

/** Makes mounts below the folder show in containers that mount it, and the other way round. Keeps what is in it. */
export async function shareMounts(folder: string): Promise<void> {
  const mount = mountOf(await mounts(), folder);
  if (mount?.shared) return;
  // A folder must be a mount of its own to be shared by itself.
  await command(
    'mount',
    mount?.path === folder ? ['--make-shared', folder] : ['--bind', '--make-shared', folder, folder],
  );
}

/** Unmounts the folder and all below it. Rejects, with what is in the way, where something stays mounted. */
export async function unmountBelow(folder: string): Promise<void> {
  const mounted = mountsBelow(await mounts(), folder);
  if (mounted.length === 0) return;
  try {
    await command('umount', mounted);
  } catch (error) {
    // What was unmounted together with another one counts as a failure of the command.
    const left = mountsBelow(await mounts(), folder);
    if (left.length === 0) return;
    const message = `still mounted, it is tried again: ${left.join(', ')}: ${errorMessage(error)}`;
    throw new StateletError('Internal', message, { cause: error });
  }
}

let reading: Promise<readonly MountPoint[]> | undefined;
let next: Promise<readonly MountPoint[]> | undefined;

/**
 * The kernel is asked, since a former agent may have mounted what is there. Where many pods end at once they share a look
 * that began after each of them had asked: on a full node the table takes milliseconds.
 */
function mounts(): Promise<readonly MountPoint[]> {
  next ??= Promise.resolve(reading).then(readTable, readTable);
  return next;
}

function readTable(): Promise<readonly MountPoint[]> {
  next = undefined;
  reading = readFile('/proc/self/mountinfo', 'utf8')
    .then(parseMountInfo)
    .finally(() => (reading = undefined));
  return reading;
}
