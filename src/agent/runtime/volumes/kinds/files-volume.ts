import { createHash } from 'node:crypto';
import { filesFilesystem } from '../../../policies/volumes/empty-dir.ts';
import { type VolumeFile, volumePayload } from '../../../policies/volumes/projected-files.ts';
import { podFsGroup } from '../../../policies/volumes/volume-ownership.ts';
import { isKeptOnDisk, volumeKind } from '../../../policies/volumes/volume-source.ts';
import { currentVersion, writeFirstPayload, writePayload } from './atomic-writer.ts';
import { sourceFiles } from './volume-contents.ts';
import { makeVolumeFolder, mountVolumeFolder } from './volume-folder.ts';
import type { PodVolume, VolumeKind, VolumeSetUp } from './volume-kind.ts';

/** A downwardAPI, projected, configMap or secret volume: the agent writes its files, and keeps them up to date. */
export const filesKind: VolumeKind = {
  isOfPod: true,
  folder: folderOf,
  setUp: writeFiles,
  isUsable: async (volume) => (await currentVersion(folderOf(volume))) !== undefined,
};

function folderOf({ volume, paths }: PodVolume): string {
  return paths.volume(volumeKind(volume), volume.name);
}

/** Files that this agent has written are not read again. */
async function writeFiles(request: VolumeSetUp, signal: AbortSignal): Promise<void> {
  const { pod, volume, state, node } = request;
  state.isKeptFresh = true;
  const { allocatable, clock, logger, withoutMounts } = node;
  const { written } = state;
  const folder = folderOf(request);
  const payload = volumePayload(await sourceFiles(node, pod, volume, signal));
  const digest = digestOf(payload);
  if (written?.digest === digest && (await currentVersion(folder)) === written.version) return;

  signal.throwIfAborted();
  const ownership = { fsGroup: podFsGroup(pod), logger };
  let isNew = false;
  if (isKeptOnDisk(volume) || withoutMounts) isNew = await makeVolumeFolder(folder, ownership);
  else await mountVolumeFolder(folder, filesFilesystem(pod, allocatable));
  const write = isNew ? writeFirstPayload : writePayload;
  state.written = { digest, version: await write(folder, payload, ownership, clock.now()) };
}

/** An object may have ten thousand small keys: they are hashed together. */
const CHUNK = 65_536;

/** Equal for files of equal paths and contents. As with the kubelet, modes do not count: files are not written again for a mode. */
export function digestOf(payload: ReadonlyMap<string, VolumeFile>): string {
  const hash = createHash('sha256');
  let text = '';
  const flush = () => {
    hash.update(text);
    text = '';
  };
  for (const [path, { content }] of payload) {
    text += `${path}\0${content.length}\0`;
    if (typeof content === 'string') text += content;
    else {
      flush();
      hash.update(content);
    }
    if (text.length > CHUNK) flush();
  }
  flush();
  return hash.digest('base64');
}
