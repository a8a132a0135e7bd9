import { csiVolumeName } from '../../../policies/volumes/csi-source.ts';
import { StateletError } from '../../../../types/errors.ts';
import type { VolumeKind } from './volume-kind.ts';

/** What a CSI driver mounts in the pod's folder, of a PersistentVolume or of the pod's own spec. */
export const csiKind: VolumeKind = {
  setUp: async (request, signal) => {
    const { csi } = request.node;
    if (csi === undefined) {
      const message =
        'a volume of csi is not supported here: CSI drivers need a cluster and a runtime of CRI';
      throw new StateletError('Unimplemented', message);
    }
    await csi.mount(request, signal);
  },
  isRefreshedBeside: true,
  isUsable: async (volume, { csi }) => (await csi?.isMounted(volume)) === true,
  folder: (volume) => volume.paths.csiMount(csiVolumeName(volume)),
};
