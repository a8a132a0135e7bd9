import { memoryFilesystem } from '../../policies/volumes/empty-dir.ts';
import { volumePayload } from '../../policies/volumes/projected-files.ts';
import { podFsGroup } from '../../policies/volumes/volume-ownership.ts';
import { filesVolume, isKeptOnDisk, type Volume } from '../../policies/volumes/volume-source.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import type { Clock } from '../../types/clock.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import { writePayload } from './atomic-writer.ts';
import { filesOf, type VolumeContentsByKind } from './volume-contents.ts';
import { makeVolumeFolder, mountVolumeFolder } from './volume-folder.ts';

export interface FilesVolumeDeps {
  readonly allocatable: ResourceList;
  readonly contents: VolumeContentsByKind;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Writes the files of a downwardAPI, projected, configMap or secret volume, or brings them up to date. */
export async function setUpFilesVolume(
  { allocatable, contents, clock, logger }: FilesVolumeDeps,
  pod: Pod,
  volume: Volume,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { sources, defaultMode } = filesVolume(volume);
  const request = { pod, defaultMode, allocatable };
  const files = await Promise.all(sources.map((source) => filesOf(source, contents, request, signal)));
  const payload = volumePayload(files.flat());
  const ownership = { fsGroup: podFsGroup(pod), logger };

  signal.throwIfAborted();
  if (isKeptOnDisk(volume)) await makeVolumeFolder(folder, ownership);
  else await mountVolumeFolder(folder, memoryFilesystem(pod));
  await writePayload(folder, payload, ownership, clock.now());
}
