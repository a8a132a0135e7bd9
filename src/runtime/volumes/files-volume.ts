import { memoryFilesystem } from '../../policies/volumes/empty-dir.ts';
import { type VolumeFile, volumePayload } from '../../policies/volumes/projected-files.ts';
import { podFsGroup } from '../../policies/volumes/volume-ownership.ts';
import { filesVolume, isKeptOnDisk, type Volume } from '../../policies/volumes/volume-source.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import type { Clock } from '../../types/clock.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import { isWritten, writePayload } from './atomic-writer.ts';
import { filesOf, type VolumeContentsByKind } from './volume-contents.ts';
import { makeVolumeFolder, mountVolumeFolder } from './volume-folder.ts';

export interface FilesVolumeDeps {
  readonly allocatable: ResourceList;
  readonly contents: VolumeContentsByKind;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
}

/**
 * Writes the files of a downwardAPI, projected, configMap or secret volume, or brings them up to date. Rejects where there are no
 * files yet and a source cannot be read; files that are there stay then, and the pod's event says why.
 */
export async function setUpFilesVolume(
  { allocatable, contents, clock, recorder, logger }: FilesVolumeDeps,
  pod: Pod,
  volume: Volume,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { sources, defaultMode } = filesVolume(volume);
  const request = { pod, defaultMode, allocatable };
  let files: readonly VolumeFile[];
  try {
    files = await allFilesOf(sources.map((source) => filesOf(source, contents, request, signal)));
  } catch (error) {
    signal.throwIfAborted();
    if (!(await isWritten(folder))) throw error;
    recorder.event(pod.metadata, 'Warning', 'FailedMount', mountFailure(volume, error));
    return;
  }
  const payload = volumePayload(files);
  const ownership = { fsGroup: podFsGroup(pod), logger };

  signal.throwIfAborted();
  if (isKeptOnDisk(volume)) await makeVolumeFolder(folder, ownership);
  else await mountVolumeFolder(folder, memoryFilesystem(pod));
  await writePayload(folder, payload, ownership, clock.now());
}

/** As with the kubelet, all sources that fail are told. */
async function allFilesOf(reads: readonly Promise<readonly VolumeFile[]>[]): Promise<readonly VolumeFile[]> {
  const outcomes = await Promise.allSettled(reads);
  const failures = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  );
  const messages = [...new Set(failures.map(errorMessage))];
  if (messages.length === 1) throw failures[0];
  if (messages.length > 1)
    throw new StateletError(errorKind(failures[0]), `[${messages.join(', ')}]`, { cause: failures[0] });
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
}

/** The message of the event about a volume that cannot be set up. */
export function mountFailure({ name }: Volume, error: unknown): string {
  return `MountVolume.SetUp failed for volume "${name}" : ${errorMessage(error)}`;
}
