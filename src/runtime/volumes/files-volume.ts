import { FilesSize } from '../../policies/volumes/files-size.ts';
import { eachOf } from '../../system/promises/each-of.ts';
import { filesFilesystem } from '../../policies/volumes/empty-dir.ts';
import { collectFiles, wholeFiles } from '../../policies/volumes/collected-files.ts';
import { type VolumeFile, volumePayload } from '../../policies/volumes/projected-files.ts';
import { podFsGroup } from '../../policies/volumes/volume-ownership.ts';
import { fileSources, filesMode, isKeptOnDisk, type Volume } from '../../policies/volumes/volume-source.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import type { Clock } from '../../types/clock.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import { currentVersion, writeFirstPayload, writePayload } from './atomic-writer.ts';
import { filesOf, type VolumeContentsByKind } from './volume-contents.ts';
import { makeVolumeFolder, mountVolumeFolder } from './volume-folder.ts';
import { digestOf, type WrittenFiles } from './written-files.ts';

export interface FilesVolumeDeps {
  readonly allocatable: ResourceList;
  readonly contents: VolumeContentsByKind;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface FilesVolumeRequest {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly folder: string;
  /** What this agent has written there before. */
  readonly written: WrittenFiles | undefined;
}

/**
 * Writes the files of a downwardAPI, projected, configMap or secret volume, or brings them up to date. Files that this agent has
 * written are not read again.
 */
export async function setUpFilesVolume(
  deps: FilesVolumeDeps,
  { pod, volume, folder, written }: FilesVolumeRequest,
  signal: AbortSignal,
): Promise<WrittenFiles> {
  const payload = volumePayload(await sourceFiles(deps, pod, volume, signal));
  const digest = digestOf(payload);
  if (written?.digest === digest && (await currentVersion(folder)) === written.version) return written;

  signal.throwIfAborted();
  const { allocatable, clock, logger } = deps;
  const ownership = { fsGroup: podFsGroup(pod), logger };
  let isNew = false;
  if (isKeptOnDisk(volume)) isNew = await makeVolumeFolder(folder, ownership);
  else await mountVolumeFolder(folder, filesFilesystem(pod, allocatable));
  const write = isNew ? writeFirstPayload : writePayload;
  return { digest, version: await write(folder, payload, ownership, clock.now()) };
}

const SOURCES_AT_ONCE = 8;

/** The files of all sources of the volume. Rejects where one of them cannot be read. */
export async function sourceFiles(
  { allocatable, contents }: Pick<FilesVolumeDeps, 'allocatable' | 'contents'>,
  pod: Pod,
  volume: Volume,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const request = { pod, defaultMode: filesMode(volume), allocatable, fields: new Map<string, string>() };
  const size = new FilesSize(volume);
  const sources = fileSources(volume);
  const outcomes: PromiseSettledResult<readonly VolumeFile[]>[] = [];
  // A few at a time: many sources may name one large object, and no more of them is decoded than a volume may have.
  await eachOf([...sources.entries()], SOURCES_AT_ONCE, async ([index, source]) => {
    const read = async () => size.counted(await filesOf(source, contents, request, signal));
    const [outcome] = await Promise.allSettled(size.isExceeded ? [] : [read()]);
    if (outcome) outcomes[index] = outcome;
  });
  return wholeFiles(collectFiles(outcomes.filter(Boolean)));
}
