import { emptyDirFilesystem } from '../../../policies/volumes/empty-dir.ts';
import { podFsGroup } from '../../../policies/volumes/volume-ownership.ts';
import type { VolumeKind } from './volume-kind.ts';
import { makeVolumeFolder, mountVolumeFolder } from './volume-folder.ts';

/** An empty folder on the disk, or a file system in memory, for as long as the pod is there. */
export const emptyDirKind: VolumeKind = {
  isOfPod: true,
  folder: ({ volume, paths }) => paths.volume('emptyDir', volume.name),
  setUp: async ({ pod, volume, paths, node: { allocatable, logger } }) => {
    const folder = paths.volume('emptyDir', volume.name);
    const filesystem = emptyDirFilesystem(pod, volume, allocatable);
    if (filesystem) await mountVolumeFolder(folder, filesystem);
    else await makeVolumeFolder(folder, { fsGroup: podFsGroup(pod), logger });
  },
};
