/** The health of a DRA driver's devices, as last reported. */
import { printable } from '../formats/terminal-text.ts';
import type { ClaimDevice, ClaimDeviceHealth, DeviceHealthName } from './claim-devices.ts';

export interface ReportedHealth {
  readonly device: { readonly pool: string; readonly device: string } | undefined;
  readonly health: DeviceHealthName | 'other';
  /** 0 or less: the default. */
  readonly timeoutSeconds: number;
  readonly message: string;
}

interface KnownHealth extends ClaimDeviceHealth {
  /** Unix ms: after that the health is unknown. */
  readonly until: number;
}

/** By pool and device. */
export type HealthList = ReadonlyMap<string, KnownHealth>;

export const UNKNOWN_HEALTH: ClaimDeviceHealth = { health: 'Unknown', message: '' };

/** The kubelet's. */
const TIMEOUT_SECONDS = 30;
const MESSAGE_MAX_LENGTH = 1_024;
const DEVICES_MAX = 10_000;

type DeviceName = Pick<ClaimDevice, 'pool' | 'device'>;

const keyOf = ({ pool, device }: DeviceName): string => `${pool}/${device}`;

export function healthIn(list: HealthList | undefined, device: DeviceName, now: number): ClaimDeviceHealth {
  const known = list?.get(keyOf(device));
  return known === undefined || now > known.until ? UNKNOWN_HEALTH : known;
}

/** A device that a report leaves out keeps its last health until that expires. */
export function withHealth(
  before: HealthList | undefined,
  reported: readonly ReportedHealth[],
  now: number,
): HealthList {
  const list = new Map([...(before ?? [])].filter(([, { until }]) => now <= until));
  for (const { device, health, timeoutSeconds, message } of reported.slice(0, DEVICES_MAX)) {
    if (device === undefined) continue;
    const until = now + (timeoutSeconds > 0 ? timeoutSeconds : TIMEOUT_SECONDS) * 1_000;
    const name = health === 'other' ? 'Unknown' : health;
    list.set(keyOf(device), { health: name, message: shortened(printable(message)), until });
  }
  return list;
}

function shortened(message: string): string {
  return message.length <= MESSAGE_MAX_LENGTH ? message : `${message.slice(0, MESSAGE_MAX_LENGTH - 3)}...`;
}
