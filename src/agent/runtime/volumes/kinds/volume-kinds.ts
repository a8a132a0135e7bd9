import { qualifiedPlugin, type VolumeKindName, volumeKind } from '../../../policies/volumes/volume-source.ts';
import type { PodPaths } from '../pod-paths.ts';
import { csiKind } from './csi-volume.ts';
import { emptyDirKind } from './empty-dir-volume.ts';
import { filesKind } from './files-volume.ts';
import { hostPathKind } from './host-path.ts';
import { imageKind } from './image-volume.ts';
import { localKind } from './local-volume.ts';
import type { PodVolume, VolumeKind } from './volume-kind.ts';

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

type VolumeSource = Pick<PodVolume, 'volume' | 'claimed'>;

/** Throws what `volumeKind` throws. */
export function kindName({ volume, claimed }: VolumeSource): VolumeKindName {
  return claimed?.source.kind ?? volumeKind(volume);
}

/** Throws what `volumeKind` throws. */
export function kindOf(source: VolumeSource): VolumeKind {
  return setUpKinds[kindName(source)];
}

/** As the kubelet's metrics name it. Throws what `volumeKind` throws. */
export function pluginOf(source: VolumeSource): string {
  const { volume, claimed } = source;
  const driver = claimed?.source.kind === 'csi' ? claimed.source.driver : volume.csi?.driver;
  return qualifiedPlugin(kindName(source), driver);
}

/** Nothing below the pod's folder is mounted any more: removes what kinds do not leave to the removal of the whole folder. */
export async function tearDownVolumes(paths: PodPaths): Promise<void> {
  for (const kind of new Set(Object.values(setUpKinds))) await kind.tearDown?.(paths);
}
