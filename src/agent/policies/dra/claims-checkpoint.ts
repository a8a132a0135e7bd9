/**
 * The file of ResourceClaims, `dra_manager_state`: a kubelet on this node would read it too, so format and checksum are the
 * kubelet's.
 */
import { isJsonObject } from '../formats/canonical-json.ts';
import type { ClaimDevice, ClaimState } from './claim-devices.ts';

const HEADER = { kind: 'DRACheckpoint', apiVersion: 'checkpoint.dra.kubelet.k8s.io/v1' } as const;

/** CRC-32 of a text in UTF-8. */
export type Checksum = (text: string) => number;

export function claimsText(claims: readonly ClaimState[], checksum: Checksum): string {
  const Data = JSON.stringify({ ...HEADER, ClaimInfoStateList: claims.map(written) });
  return JSON.stringify({ Data, Checksum: checksum(Data) });
}

function written({ uid, name, namespace, pods, drivers }: ClaimState): object {
  const states = Object.entries(drivers).map(
    ([driver, devices]) =>
      [driver, { Devices: devices.length === 0 ? null : devices.map(writtenDevice) }] as const,
  );
  return {
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: Object.fromEntries(pods.map((pod) => [pod, {}])),
    DriverState: Object.fromEntries(states),
  };
}

function writtenDevice({ pool, device, shareId, requests, cdiIds }: ClaimDevice): object {
  return {
    PoolName: pool,
    DeviceName: device,
    ShareID: shareId === '' ? null : shareId,
    RequestNames: requests,
    CDIDeviceIDs: cdiIds,
  };
}

/** Throws an error that says what is wrong with the text. */
export function readClaims(text: string, checksum: Checksum): readonly ClaimState[] {
  const whole: unknown = JSON.parse(text);
  if (!isJsonObject(whole) || typeof whole.Data !== 'string' || whole.Checksum !== checksum(whole.Data))
    throw new Error('checkpoint is corrupted');
  const data: unknown = JSON.parse(whole.Data);
  const list = isJsonObject(data) ? (data.ClaimInfoStateList ?? []) : undefined;
  if (!Array.isArray(list)) throw new Error('it has no ClaimInfoStateList');
  return list.map(readClaim);
}

function readClaim(value: unknown): ClaimState {
  if (!isJsonObject(value)) throw new Error('a claim is not an object');
  const { ClaimUID, ClaimName, Namespace, PodUIDs = {}, DriverState } = value;
  const states = Object.entries(objectOf(DriverState, 'DriverState')).map(
    ([driver, state]) =>
      [driver, listOf(objectOf(state, driver).Devices, 'Devices').map(readDevice)] as const,
  );
  return {
    uid: textOf(ClaimUID, 'ClaimUID'),
    name: textOf(ClaimName, 'ClaimName'),
    namespace: textOf(Namespace, 'Namespace'),
    pods: Object.keys(objectOf(PodUIDs, 'PodUIDs')),
    drivers: Object.fromEntries(states),
  };
}

function readDevice(value: unknown): ClaimDevice {
  const { PoolName, DeviceName, ShareID, RequestNames, CDIDeviceIDs } = objectOf(value, 'Devices');
  const texts = (list: unknown, name: string) => listOf(list, name).map((text) => textOf(text, name));
  return {
    pool: textOf(PoolName, 'PoolName'),
    device: textOf(DeviceName, 'DeviceName'),
    shareId: textOf(ShareID ?? '', 'ShareID'),
    requests: texts(RequestNames, 'RequestNames'),
    cdiIds: texts(CDIDeviceIDs, 'CDIDeviceIDs'),
  };
}

function objectOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {};
  if (!isJsonObject(value)) throw new Error(`${name} is not an object`);
  return value;
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw new Error(`${name} is not a list`);
  return value;
}

function textOf(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new Error(`${name} is not a text`);
  return value;
}
