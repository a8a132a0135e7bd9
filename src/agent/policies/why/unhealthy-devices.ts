/** Devices that plugins have given to containers, and say are broken. */
import type { PodStatus } from '../../../types/kubernetes.ts';

/** A part of a sentence whose subject is the pod. */
export const UNHEALTHY = 'has a device that is not healthy';

export interface UnhealthyDevice {
  readonly container: string;
  readonly resource: string;
  readonly device: string;
}

/** One whose health is not known is left out: its plugin may be starting again. */
export function unhealthyDevices(status: PodStatus | undefined): readonly UnhealthyDevice[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses].flatMap(
    ({ name: container, state, allocatedResourcesStatus = [] }) =>
      allocatedResourcesStatus
        .filter(() => state?.running != null)
        .flatMap(({ name: resource, resources = [] }) =>
          resources.flatMap(({ resourceID: device, health }) =>
            health === 'Unhealthy' ? [{ container, resource, device }] : [],
          ),
        ),
  );
}
