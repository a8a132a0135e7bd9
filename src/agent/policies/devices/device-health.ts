/** The health of a container's devices, for the status of its pod. */
import type { ContainerStatus } from '../../../types/kubernetes.ts';
import type { Devices } from './device-list.ts';

type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];

export interface HeldDevices {
  readonly resource: string;
  readonly ids: readonly string[];
  /** Undefined while no plugin serves the resource. */
  readonly devices: Devices | undefined;
}

/** Sorted by name. A device that no plugin lists may be healthy or not: its health is `Unknown`. */
export function devicesStatus(held: readonly HeldDevices[]): ResourceStatus[] {
  return held
    .toSorted((a, b) => (a.resource < b.resource ? -1 : 1))
    .map(({ resource, ids, devices }) => ({
      name: resource,
      resources: ids.toSorted().map((id) => ({ resourceID: id, ...healthOf(id, resource, devices) })),
    }));
}

function healthOf(id: string, resource: string, devices: Devices | undefined) {
  if (devices === undefined) return { health: 'Unknown', message: `no device plugin serves ${resource} now` };
  const device = devices.get(id);
  if (device === undefined)
    return { health: 'Unknown', message: `the device plugin of ${resource} does not list it any more` };
  return { health: device.isHealthy ? 'Healthy' : 'Unhealthy' };
}
