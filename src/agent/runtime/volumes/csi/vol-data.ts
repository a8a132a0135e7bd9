/** `vol_data.json` beside what a CSI driver has mounted: with it a later agent can unmount the volume. The shape is the kubelet's. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readForeignFile } from '../../../../system/files/foreign-file.ts';
import { draftOf, replaceFile } from '../../../../system/replace-file.ts';
import { ifThere } from '../../../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../../../types/errors.ts';

/** A volume of a driver, as it is staged once for all pods of the node. */
export interface CsiVolumeKey {
  readonly driver: string;
  readonly handle: string;
  /** Of a block device: the name of its PersistentVolume. */
  readonly blockName?: string | undefined;
}

/** Of a staged volume only the first two are there. */
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

export async function writeVolData(folder: string, data: VolData): Promise<void> {
  await replaceFile(join(folder, FILE), `${JSON.stringify(data)}\n`, { mode: MODE });
}

/** Undefined where there is none. Rejects where it cannot be read: nothing may be removed then. */
export async function readVolData(folder: string): Promise<VolData | undefined> {
  const path = join(folder, FILE);
  const file = await ifThere(readForeignFile(path, { bytesMax: BYTES_MAX, followsLinks: false }));
  if (file === undefined) return undefined;
  try {
    const data = JSON.parse(file.content.toString()) as Partial<VolData>;
    const { driverName, volumeHandle } = data;
    if (typeof driverName !== 'string' || typeof volumeHandle !== 'string')
      throw new Error('it must have driverName and volumeHandle');
    return { ...data, driverName, volumeHandle };
  } catch (error) {
    const message = `${path} is broken, and what is mounted beside it stays: ${errorMessage(error)}`;
    throw new StateletError('FailedPrecondition', message, { cause: error });
  }
}

export async function removeVolData(folder: string): Promise<void> {
  const path = join(folder, FILE);
  // The agent may have been killed while it wrote the file.
  await rm(draftOf(path), { force: true });
  await rm(path, { force: true });
}
