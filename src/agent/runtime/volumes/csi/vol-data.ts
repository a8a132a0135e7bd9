/**
 * `vol_data.json` beside what a CSI driver has mounted: with it a later agent can unmount the volume. The format is the
 * kubelet's.
 */
import { join } from 'node:path';
import { errorMessage, StateletError } from '../../../../types/errors.ts';
import type { VolumeDisk } from '../volume-disk.ts';

/** A volume of a driver, as it is staged once for all pods of the node. */
export interface CsiVolumeKey {
  readonly driver: string;
  readonly handle: string;
  /** Of a block device: the name of its PersistentVolume. */
  readonly blockName?: string | undefined;
}

/** A staged volume has only the first two. */
export interface VolData {
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly specVolID?: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  readonly volumeLifecycleMode?: 'Persistent' | 'Ephemeral';
}

export function volumeOf({ driverName, volumeHandle }: VolData): CsiVolumeKey {
  return { driver: driverName, handle: volumeHandle };
}

const FILE = 'vol_data.json';
const MODE = 0o644;
const BYTES_MAX = 64 * 1024;

export async function writeVolData(disk: VolumeDisk, folder: string, data: VolData): Promise<void> {
  await disk.replaceFile(join(folder, FILE), `${JSON.stringify(data)}\n`, MODE);
}

/** Undefined if there is none. Rejects if it cannot be read: then nothing beside it may be removed. */
export async function readVolData(disk: VolumeDisk, folder: string): Promise<VolData | undefined> {
  const path = join(folder, FILE);
  const text = await disk.readFile(path, BYTES_MAX);
  if (text === undefined) return undefined;
  try {
    const data = JSON.parse(text) as Partial<VolData>;
    const { driverName, volumeHandle } = data;
    if (typeof driverName !== 'string' || typeof volumeHandle !== 'string')
      throw new Error('it must have driverName and volumeHandle');
    return { ...data, driverName, volumeHandle };
  } catch (error) {
    const message = `${path} is broken, and the mounts beside it stay: ${errorMessage(error)}`;
    throw new StateletError('FailedPrecondition', message, { cause: error });
  }
}

export async function removeVolData(disk: VolumeDisk, folder: string): Promise<void> {
  await disk.removeFile(join(folder, FILE));
}
