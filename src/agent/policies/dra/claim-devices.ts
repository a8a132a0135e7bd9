/** The devices that DRA drivers have prepared for a ResourceClaim, and which of them a container gets. */
import type { ContainerStatus } from '../../../types/kubernetes.ts';

/** A device as its driver has described it. */
export interface ClaimDevice {
  readonly pool: string;
  readonly device: string;
  /** Empty: the device is not shared. */
  readonly shareId: string;
  /** Requests of the claim that the device is for; empty: all of them. */
  readonly requests: readonly string[];
  /** CDI device IDs, by which the runtime gives the device to a container. */
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

/** The health of a device, as its driver reports it. */
export interface ClaimDeviceHealth {
  readonly health: DeviceHealthName;
  /** Empty: the driver gives no reason. */
  readonly message: string;
}

/** Far more than any claim has: limits the file of claims. */
const DEVICES_MAX = 1_000;
const IDS_MAX = 100;
const TEXT_MAX_LENGTH = 1_000;

/** Why the answer of a driver is refused; undefined if it is accepted. */
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

/** `requests`: an empty text means the whole claim. Each CDI device ID once. */
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

/**
 * The health of the devices that a container uses of the claim. `name` and `request`: those of the container's spec. Undefined if
 * no device is known.
 */
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
