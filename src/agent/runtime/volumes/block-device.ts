/**
 * The block device of a volume for a pod. A link in the pod's folder names it for containers. A bind mount of it, beside those of
 * other pods, is held by a loop device, so that the kernel gives its number to no other device.
 */
// oxlint-disable-next-line no-restricted-imports -- reads files of the kernel
import { readdir, readFile, readlink, rm, rmdir, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../../system/make-folder.ts';
import { NEVER_ABORTED } from '../../../system/promises.ts';
import { runCommand } from '../../../system/run-command.ts';
import { errnoCode, ifThere } from '../../../system/system-errors.ts';
import { sleep, systemClock } from '../../../system/timer.ts';
import { StateletError } from '../../../types/errors.ts';
import { bindMount, mountedPaths, unmountBelow } from './mounter.ts';
import { type DevicePaths, PRIVATE_FOLDER_MODE } from './pod-paths.ts';

const COMMAND_LIMIT_MS = 60_000;
const HOLDERS = '/sys/block';
const LET_GO_TRIES = 20;
const LET_GO_PAUSE_MS = 100;

/** Makes the link before the device: by the link a later agent finds the device. */
export async function linkDevice({ link }: Pick<DevicePaths, 'link'>, device: string): Promise<void> {
  const before = await ifThere(readlink(link));
  if (before === device) return;
  if (before !== undefined) await unlink(link);
  await makeFolder(dirname(link), PRIVATE_FOLDER_MODE);
  await symlink(device, link);
}

/** Mounts and holds the device, which must be linked. Does nothing if that was done before. */
export async function mapDevice({ mount }: Pick<DevicePaths, 'mount'>, device: string): Promise<void> {
  const found = await ifThere(stat(device));
  if (found?.isBlockDevice() !== true)
    throw new StateletError('FailedPrecondition', `${device} is not a block device`);
  await makeFolder(dirname(mount), PRIVATE_FOLDER_MODE);
  if (!(await mountedPaths()).has(mount)) {
    await writeFile(mount, '', { flag: 'a', mode: 0o600 });
    await bindMount(device, mount);
  }
  if ((await holderOf(mount)) === undefined) await losetup('-f', mount);
}

/** The link stays until mount and loop device are gone: see `unlinkDevice`. */
export async function unmapDevice({ mount }: Pick<DevicePaths, 'mount'>): Promise<void> {
  await letGo(mount);
  await rm(mount, { force: true });
  await removeIfEmpty(dirname(mount));
}

export async function unlinkDevice({ link }: Pick<DevicePaths, 'link'>): Promise<void> {
  await unlink(link);
}

/** While another process, such as udev, has the loop device open, the kernel keeps the mount busy. That takes a moment. */
async function letGo(mount: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const holder = await holderOf(mount);
      if (holder !== undefined) await losetup('-d', holder);
      await unmountBelow(mount);
      return;
    } catch (error) {
      if (tries === LET_GO_TRIES) throw error;
    }
    await sleep(systemClock, LET_GO_PAUSE_MS, NEVER_ABORTED);
  }
}

/** `remove`: removes an empty folder. */
export async function removeIfEmpty(
  folder: string,
  remove: (folder: string) => Promise<void> = rmdir,
): Promise<void> {
  await remove(folder).catch((error: unknown) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EBUSY'].includes(errnoCode(error) ?? '')) throw error;
  });
}

/** The loop device that holds the file. */
async function holderOf(file: string): Promise<string | undefined> {
  for (const name of (await ifThere(readdir(HOLDERS))) ?? []) {
    if (!name.startsWith('loop')) continue;
    const held = await readFile(join(HOLDERS, name, 'loop/backing_file'), 'utf8').catch(() => '');
    if (held.trimEnd() === file) return `/dev/${name}`;
  }
  return undefined;
}

async function losetup(...args: readonly string[]): Promise<void> {
  try {
    await runCommand('losetup', args, { timeoutMs: COMMAND_LIMIT_MS });
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT') throw error;
    const message = 'there is no losetup command, by which a block device is held: install util-linux';
    throw new StateletError('FailedPrecondition', message, { cause: error });
  }
}
