/** What earlier agents have left of volumes of CSI drivers. */
import { join } from 'node:path';
import { eachOf } from '../../../../system/promises.ts';
import { subfolderNames, subfolders } from '../../../../system/files/subfolders.ts';
import { pluginFolder } from '../../../policies/volumes/volume-source.ts';
import { errorMessage } from '../../../../types/errors.ts';
import type { Logger } from '../../../../types/logger.ts';
import { removeMountPoint } from './csi-mount-point.ts';
import { type CsiVolumeKey, readVolData, type VolData, volumeOf } from './vol-data.ts';

/** What is there must be known before the first volume is unstaged. */
export interface FoundCsiVolumes {
  readonly published: readonly (CsiVolumeKey & { readonly podUID: string })[];
  readonly staged: readonly CsiVolumeKey[];
  /** Of some published volumes it cannot be read which they are. */
  readonly isInPart: boolean;
}

const FOLDERS_AT_A_TIME = 8;

/** A broken record is told, and what it is about stays. */
export async function findCsiVolumes(
  folders: { readonly rootDir: string; readonly stagingDir: string },
  logger: Logger,
): Promise<FoundCsiVolumes> {
  const staged = await stagedIn(folders.stagingDir, logger);
  const published: FoundCsiVolumes['published'][number][] = [];
  let isInPart = false;
  const podsDir = join(folders.rootDir, 'pods');
  await eachOf(await subfolderNames(podsDir), FOLDERS_AT_A_TIME, async (podUID) => {
    for (const folder of await subfolders(join(podsDir, podUID, 'volumes', pluginFolder('csi')))) {
      const data = await readable(folder, logger);
      if (data === 'broken') isInPart = true;
      else if (data && data.volumeLifecycleMode !== 'Ephemeral')
        published.push({ ...volumeOf(data), podUID });
    }
  });
  return { published, staged, isInPart };
}

async function stagedIn(stagingDir: string, logger: Logger): Promise<readonly CsiVolumeKey[]> {
  const staged: CsiVolumeKey[] = [];
  const ofDrivers = await Promise.all((await subfolders(stagingDir)).map(subfolders));
  await eachOf(ofDrivers.flat(), FOLDERS_AT_A_TIME, async (folder) => {
    const data = await readable(folder, logger);
    // An agent was killed before its driver was asked for anything, or after that had undone it.
    if (data === undefined) await removeMountPoint(join(folder, STAGED)).catch(() => undefined);
    else if (data !== 'broken') staged.push(volumeOf(data));
  });
  return staged;
}

/** The name of the folder on which a driver stages a volume. */
export const STAGED = 'globalmount';

async function readable(folder: string, logger: Logger): Promise<VolData | 'broken' | undefined> {
  return readVolData(folder).catch((error: unknown) => {
    logger.warn({}, errorMessage(error));
    return 'broken' as const;
  });
}
