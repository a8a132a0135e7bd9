import { imageVolumesOf } from '../../policies/volumes/volume-source.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { TurnoverMeasurements } from '../../../types/measurements.ts';

/** How a runtime's refusal to mount an image begins (CRI's `ErrImageVolumeMountFailed`). */
const MOUNT_FAILED = 'ImageVolumeMountFailed';

/** Creates a container, and measures the mounts of its images. */
export async function measuredImageVolumes<T>(
  turnover: Pick<TurnoverMeasurements, 'imageVolumesRequested' | 'imageVolumesMounted'> | undefined,
  { pod, container }: { readonly pod: Pod; readonly container: Container | EphemeralContainer },
  create: () => Promise<T>,
): Promise<T> {
  const volumes = new Set(imageVolumesOf(pod, container).map(({ name }) => name));
  if (turnover === undefined || volumes.size === 0) return create();
  const mounts = container.volumeMounts?.filter(({ name }) => volumes.has(name)).length ?? 0;
  turnover.imageVolumesRequested(volumes.size);
  try {
    const created = await create();
    turnover.imageVolumesMounted(mounts, 'success');
    return created;
  } catch (error) {
    if (errorMessage(error).includes(MOUNT_FAILED)) turnover.imageVolumesMounted(mounts, 'failure');
    throw error;
  }
}
