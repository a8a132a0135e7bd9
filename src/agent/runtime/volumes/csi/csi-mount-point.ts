/**
 * The folder on which a CSI driver mounts, with `vol_data.json` beside it. Files in it are never removed: they may be those of a
 * mount that the agent does not see.
 */
import { dirname } from 'node:path';
import { errnoCode } from '../../../../system/system-errors.ts';
import { isUncertain } from '../../../policies/volumes/csi-source.ts';
import { errorKind, errorMessage, StateletError } from '../../../../types/errors.ts';
import type { VolumeDisk } from '../volume-disk.ts';
import { removeVolData } from './vol-data.ts';

/** Throws if something is still mounted there or below. */
export async function refuseMounted(disk: VolumeDisk, target: string, what: string): Promise<void> {
  const mounted = [...(await disk.mountedPaths())];
  const left = mounted.find((path) => path === target || path.startsWith(`${target}/`));
  if (left !== undefined)
    throw new StateletError('FailedPrecondition', `${what}, but ${left} is still mounted`);
}

/** After a call that has certainly failed, removes the folder. Otherwise it stays until the driver has undone the call. */
export async function dropUnlessUncertain(
  disk: VolumeDisk,
  target: string,
  error: unknown,
  signal?: AbortSignal,
): Promise<void> {
  if (signal?.aborted || isUncertain(errorKind(error)) || (await disk.mountedPaths()).has(target)) return;
  await removeMountPoint(disk, target).catch(() => undefined);
}

/** Also removes `vol_data.json` and the folder of both. */
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
