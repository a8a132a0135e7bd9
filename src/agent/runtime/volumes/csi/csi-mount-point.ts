/** The folder on which a CSI driver mounts, with `vol_data.json` beside it. Nothing in it is ever removed: a mount that was overlooked would lose its files. */
import { dirname } from 'node:path';
import { errnoCode } from '../../../../system/system-errors.ts';
import { isUncertain } from '../../../policies/volumes/csi-source.ts';
import { errorKind, errorMessage, StateletError } from '../../../../types/errors.ts';
import type { VolumeDisk } from '../volume-disk.ts';
import { removeVolData } from './vol-data.ts';

/** Throws where nothing is to be mounted there or below any more, and something is. */
export async function refuseMounted(disk: VolumeDisk, target: string, what: string): Promise<void> {
  const mounted = [...(await disk.mountedPaths())];
  const left = mounted.find((path) => path === target || path.startsWith(`${target}/`));
  if (left !== undefined)
    throw new StateletError('FailedPrecondition', `${what}, but ${left} is still mounted`);
}

/** What the driver has not done for certain leaves nothing behind: else all stays, until the driver has undone it. */
export async function dropUnlessUncertain(
  disk: VolumeDisk,
  target: string,
  error: unknown,
  signal?: AbortSignal,
): Promise<void> {
  if (signal?.aborted || isUncertain(errorKind(error)) || (await disk.mountedPaths()).has(target)) return;
  await removeMountPoint(disk, target).catch(() => undefined);
}

/** And what is beside it. */
export async function removeMountPoint(disk: VolumeDisk, target: string): Promise<void> {
  await removeEmpty(disk, target);
  await removeVolData(disk, dirname(target));
  await removeEmpty(disk, dirname(target));
}

async function removeEmpty(disk: VolumeDisk, folder: string): Promise<void> {
  try {
    await disk.rmdir(folder);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return;
    const message = `${folder} is not empty or still mounted, it is left as it is: ${errorMessage(error)}`;
    throw new StateletError('FailedPrecondition', message, { cause: error });
  }
}
