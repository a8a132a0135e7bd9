/** What DRA drivers have prepared for a ResourceClaim, and which of it a container gets. */
import type { ContainerStatus } from '../../../types/kubernetes.ts';

/** A device as its driver has described it. */
export interface ClaimDevice {
  readonly pool: string;
  readonly device: string;
  /** Empty: the device is not shared. */
  readonly shareId: string;
  /** Of the claim; empty: all of them. */
  readonly requests: readonly string[];
  /** The names of what the runtime gives to a container. */
  readonly cdiIds: readonly string[];
}

export interface ClaimKey {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A claim that pods of this node use. */
export interface ClaimState extends ClaimKey {
  /** The UIDs of the pods. */
  readonly pods: readonly string[];
  /** All drivers of the claim, with what they have prepared. */
  readonly drivers: Readonly<Record<string, readonly ClaimDevice[]>>;
}

export type DeviceHealthName = 'Healthy' | 'Unhealthy' | 'Unknown';

/** What a driver says of a device of its own. */
export interface ClaimDeviceHealth {
  readonly health: DeviceHealthName;
  /** Empty: it says no more. */
  readonly message: string;
}

/** No claim has more, by far; what a driver answers is kept in a file. */
const DEVICES_MAX = 1_000;
const IDS_MAX = 100;
const TEXT_MAX_LENGTH = 1_000;

/** Why what a driver has answered is not taken; undefined where it is. */
export function preparedProblem(devices: readonly ClaimDevice[]): string | undefined {
  if (devices.length > DEVICES_MAX) return `it has more than ${DEVICES_MAX} devices`;
  for (const { pool, device, shareId, requests, cdiIds } of devices) {
    if (requests.length > IDS_MAX || cdiIds.length > IDS_MAX)
      return `a device has more than ${IDS_MAX} requests or CDI device IDs`;
    if ([pool, device, shareId, ...requests, ...cdiIds].some((text) => text.length > TEXT_MAX_LENGTH))
      return `a device has a text of more than ${TEXT_MAX_LENGTH} characters`;
  }
  return undefined;
}

type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];

/** `requests`: an empty one stands for the whole claim. Each name once. */
export function cdiIdsOf({ drivers }: ClaimState, requests: readonly string[]): readonly string[] {
  const used = requests.flatMap((request) =>
    devicesOf(drivers).filter(
      ({ device }) => request === '' || device.requests.length === 0 || device.requests.includes(request),
    ),
  );
  return [...new Set(used.flatMap(({ device }) => device.cdiIds))];
}

export function devicesOf(
  drivers: ClaimState['drivers'],
): readonly { readonly driver: string; readonly device: ClaimDevice }[] {
  return Object.entries(drivers).flatMap(([driver, devices]) =>
    devices.map((device) => ({ driver, device })),
  );
}

/** Of a use of the claim by a container. `name` and `request`: as the container names them. Undefined where no device is known. */
export function claimHealth(
  { name, request = '' }: { readonly name: string; readonly request?: string | undefined },
  { drivers }: ClaimState,
  healthOf: (driver: string, device: ClaimDevice) => ClaimDeviceHealth,
): ResourceStatus | undefined {
  const [base = ''] = request.split('/');
  const resources = new Map<string, NonNullable<ResourceStatus['resources']>[number]>();
  for (const { driver, device } of devicesOf(drivers)) {
    if (request !== '' && device.requests.length > 0 && !device.requests.includes(base)) continue;
    const resourceID = device.cdiIds[0] ?? `${driver}/${device.pool}/${device.device}`;
    if (resources.has(resourceID)) continue;
    const { health, message } = healthOf(driver, device);
    resources.set(resourceID, { resourceID, health, ...(message !== '' && { message }) });
  }
  if (resources.size === 0) return undefined;
  return { name: `claim:${name}${request === '' ? '' : `/${request}`}`, resources: [...resources.values()] };
}
