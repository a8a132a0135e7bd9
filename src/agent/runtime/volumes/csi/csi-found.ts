/** What earlier agents have left of volumes of CSI drivers. */
import { join } from 'node:path';
import { eachOf } from '../../../../system/promises.ts';
import { pluginFolder } from '../../../policies/volumes/volume-source.ts';
import { errorMessage } from '../../../../types/errors.ts';
import type { Logger } from '../../../../types/logger.ts';
import type { VolumeDisk } from '../volume-disk.ts';
import { BLOCK_FOLDER, blockPaths, NO_VOLUMES, removeEmptyBlockFolders } from './csi-block.ts';
import { removeMountPoint } from './csi-mount-point.ts';
import { type CsiVolumeKey, readVolData, type VolData, volumeOf } from './vol-data.ts';

/** They must be known before the first volume is unstaged. */
export interface FoundCsiVolumes {
  readonly published: readonly (CsiVolumeKey & { readonly podUID: string })[];
  readonly staged: readonly CsiVolumeKey[];
  /** Some `vol_data.json` of a published volume cannot be read. */
  readonly hasUnreadable: boolean;
}

const FOLDERS_AT_A_TIME = 8;

type Read = (folder: string) => Promise<VolData | 'broken' | undefined>;

/** Logs each `vol_data.json` that is broken, and leaves its volume alone. */
export async function findCsiVolumes(
  disk: VolumeDisk,
  folders: { readonly rootDir: string; readonly stagingDir: string },
  logger: Logger,
): Promise<FoundCsiVolumes> {
  const { rootDir, stagingDir } = folders;
  const read: Read = (folder) =>
    readVolData(disk, folder).catch((error: unknown) => {
      logger.warn({}, errorMessage(error));
      return 'broken' as const;
    });
  const staged = [
    ...(await stagedIn(disk, stagingDir, read)),
    ...(await stagedBlocks(disk, stagingDir, read)),
  ];
  const published: FoundCsiVolumes['published'][number][] = [];
  let hasUnreadable = false;
  const podsDir = join(rootDir, 'pods');
  await eachOf(await disk.subfolderNames(podsDir), FOLDERS_AT_A_TIME, async (podUID) => {
    for (const folder of await subfolders(disk, join(podsDir, podUID, 'volumes', pluginFolder('csi')))) {
      const data = await read(folder);
      if (data === 'broken') hasUnreadable = true;
      else if (data && data.volumeLifecycleMode !== 'Ephemeral')
        published.push({ ...volumeOf(data), podUID });
    }
    for (const blockName of await disk.linkNames(join(podsDir, podUID, BLOCK_FOLDER, pluginFolder('csi')))) {
      const data = await read(blockPaths(stagingDir, blockName).dataDir);
      if (data === 'broken') hasUnreadable = true;
      else if (data) published.push({ ...volumeOf(data), blockName, podUID });
    }
  });
  return { published, staged, hasUnreadable };
}

async function stagedIn(disk: VolumeDisk, stagingDir: string, read: Read): Promise<readonly CsiVolumeKey[]> {
  const staged: CsiVolumeKey[] = [];
  const drivers = (await disk.subfolderNames(stagingDir)).filter((name) => name !== BLOCK_FOLDER);
  const ofDrivers = await Promise.all(drivers.map((name) => subfolders(disk, join(stagingDir, name))));
  await eachOf(ofDrivers.flat(), FOLDERS_AT_A_TIME, async (folder) => {
    const data = await read(folder);
    // Without `vol_data.json` no driver has staged anything here, or it is unstaged.
    if (data === undefined) await removeMountPoint(disk, join(folder, STAGED)).catch(() => undefined);
    else if (data !== 'broken') staged.push(volumeOf(data));
  });
  return staged;
}

async function stagedBlocks(disk: VolumeDisk, csiDir: string, read: Read): Promise<readonly CsiVolumeKey[]> {
  const staged: CsiVolumeKey[] = [];
  const names = (await disk.subfolderNames(join(csiDir, BLOCK_FOLDER))).filter(
    (name) => !NO_VOLUMES.has(name),
  );
  await eachOf(names, FOLDERS_AT_A_TIME, async (blockName) => {
    const data = await read(blockPaths(csiDir, blockName).dataDir);
    // As for other volumes: no driver has staged anything here, or it is unstaged.
    if (data === undefined) await removeEmptyBlockFolders(disk, blockPaths(csiDir, blockName));
    else if (data !== 'broken') staged.push({ ...volumeOf(data), blockName });
  });
  return staged;
}

/** Their paths. */
export async function subfolders(disk: VolumeDisk, folder: string): Promise<readonly string[]> {
  return (await disk.subfolderNames(folder)).map((name) => join(folder, name));
}

/** The name of the folder on which a driver stages a volume. */
export const STAGED = 'globalmount';
