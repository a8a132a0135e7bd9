/** Mounts and unmounts with the commands of util-linux: Node has no call for that. */
// oxlint-disable-next-line no-restricted-imports -- reads a file of the kernel
import { readFile, stat } from 'node:fs/promises';
import { release } from 'node:os';
import { dirname } from 'node:path';
import type { MemoryFilesystem } from '../../policies/volumes/empty-dir.ts';
import { mountOf, type MountPoint, mountsBelow, parseMountInfo } from '../../policies/formats/mountinfo.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import { CommandError, runCommand } from '../../../system/run-command.ts';
import { errnoCode } from '../../../system/system-errors.ts';

/** A filesystem that hangs must not delay a pod for ever. */
const TIMEOUT_MS = 60_000;

/** Does not resolve symbolic links in paths: exactly the checked path is mounted. */
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
  // Some user namespaces do not allow `noswap`.
  await mount([...options, 'noswap']).catch(() => mount(options));
}

/** A tmpfs can be kept out of the swap from Linux 6.4 on. */
function mayHaveNoswap(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 4);
}

/** `options`: `ro` and others that a bind mount can have. */
export async function bindMount(
  source: string,
  target: string,
  options: readonly string[] = [],
): Promise<void> {
  await command('mount', [
    '--bind',
    ...(options.length > 0 ? ['-o', options.join(',')] : []),
    source,
    target,
  ]);
}

/** Where something is mounted, by the kernel's names. */
export async function mountedPaths(): Promise<ReadonlySet<string>> {
  return new Set((await mounts()).map(({ path }) => path));
}

/** Whether a filesystem is mounted on the folder. Does not see bind mounts within one filesystem. */
export async function hasFilesystem(folder: string): Promise<boolean> {
  const [own, parent] = await Promise.all([stat(folder), stat(dirname(folder))]);
  return own.dev !== parent.dev;
}

/** Has mounts below the folder appear in containers that mount the folder, and the other way round. Keeps its content. */
export async function shareMounts(folder: string): Promise<void> {
  const mount = mountOf(await mounts(), folder);
  if (mount?.shared) return;
  // Only a mount can be shared, so the folder is mounted on itself.
  await command(
    'mount',
    mount?.path === folder ? ['--make-shared', folder] : ['--bind', '--make-shared', folder, folder],
  );
}

/** Unmounts the folder and everything below it. Rejects where something stays mounted, and names it. */
export async function unmountBelow(folder: string): Promise<void> {
  const mounted = mountsBelow(await mounts(), folder);
  if (mounted.length === 0) return;
  try {
    await command('umount', mounted);
  } catch (error) {
    // The command fails as well for a mount that went together with another one.
    const left = mountsBelow(await mounts(), folder);
    if (left.length === 0) return;
    const message = `still mounted, it is tried again: ${left.join(', ')}: ${errorMessage(error)}`;
    throw new StateletError('Internal', message, { cause: error });
  }
}

let reading: Promise<readonly MountPoint[]> | undefined;
let next: Promise<readonly MountPoint[]> | undefined;

/**
 * The table is read each time, since a former agent may have mounted something. Where many pods end at once, they share one read
 * that began after all of them had asked: on a full node it takes milliseconds.
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
