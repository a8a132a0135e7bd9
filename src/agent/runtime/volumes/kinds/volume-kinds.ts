import { kindName, type VolumeSource } from '../../../policies/volumes/claimed-volume.ts';
import type { VolumeKindName } from '../../../policies/volumes/volume-source.ts';
import type { PodPaths } from '../pod-paths.ts';
import { csiKind } from './csi-volume.ts';
import { emptyDirKind } from './empty-dir-volume.ts';
import { filesKind } from './files-volume.ts';
import { hostPathKind } from './host-path.ts';
import { imageKind } from './image-volume.ts';
import { localKind } from './local-volume.ts';
import type { VolumeKind } from './volume-kind.ts';

const setUpKinds: Readonly<Record<VolumeKindName, VolumeKind>> = {
  emptyDir: emptyDirKind,
  hostPath: hostPathKind,
  downwardAPI: filesKind,
  projected: filesKind,
  configMap: filesKind,
  secret: filesKind,
  image: imageKind,
  local: localKind,
  csi: csiKind,
};

/** Throws what `volumeKind` throws. */
export function kindOf(source: VolumeSource): VolumeKind {
  return setUpKinds[kindName(source)];
}

/**
 * Called when nothing below the pod's folder is mounted any more: removes what needs more care than the removal of the whole
 * folder.
 */
export async function tearDownVolumes(paths: PodPaths): Promise<void> {
  for (const kind of new Set(Object.values(setUpKinds))) await kind.tearDown?.(paths);
}
