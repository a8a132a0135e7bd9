/**
 * The kubelet's checkpoint of devices, `kubelet_internal_checkpoint`. Other programs read it (Multus, SR-IOV, monitoring), and a
 * kubelet on this node would, so format and checksum are the kubelet's.
 */
import { isJsonObject } from '../formats/canonical-json.ts';
import { fnv1a32 } from '../pod-actions/restart.ts';

export interface CheckpointEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  /** By NUMA node, -1 for none. */
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
  /** What the plugin has answered, in protocol buffers. */
  readonly AllocResp: readonly number[];
}

export interface DevicesCheckpoint {
  readonly entries: readonly CheckpointEntry[];
  /** Healthy devices by resource. */
  readonly registered: Readonly<Record<string, readonly string[]>>;
}

/** `base64`: how bytes become text. */
export function checkpointText(
  { entries, registered }: DevicesCheckpoint,
  base64: (bytes: readonly number[]) => string,
): string {
  const PodDeviceEntries =
    entries.length === 0 ? null : entries.map((entry) => ({ ...entry, AllocResp: base64(entry.AllocResp) }));
  const Checksum = checksum({ entries, registered });
  return JSON.stringify({ Data: { PodDeviceEntries, RegisteredDevices: registered }, Checksum });
}

/** Throws where the text is no such checkpoint, or its checksum another one. */
export function readCheckpoint(
  text: string,
  bytesOf: (base64: string) => readonly number[],
): DevicesCheckpoint {
  const whole: unknown = JSON.parse(text);
  const data = isJsonObject(whole) ? whole.Data : undefined;
  if (!isJsonObject(whole) || !isJsonObject(data)) throw new Error('it has no Data');
  const entries = readEntries(data.PodDeviceEntries, bytesOf);
  const registered = readLists(data.RegisteredDevices ?? {}, 'RegisteredDevices');
  const checkpoint = { entries, registered };
  if (checksum(checkpoint) !== whole.Checksum) throw new Error('its checksum is not that of its content');
  return checkpoint;
}

function readEntries(
  value: unknown,
  bytesOf: (base64: string) => readonly number[],
): readonly CheckpointEntry[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw new Error('PodDeviceEntries is not a list');
  return value.map((entry: unknown) => {
    if (!isJsonObject(entry)) throw new Error('an entry is not an object');
    const { PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp } = entry;
    const texts = [PodUID, ContainerName, ResourceName, AllocResp ?? ''];
    if (!texts.every((text) => typeof text === 'string')) throw new Error('a name in an entry is not a text');
    return {
      PodUID: PodUID as string,
      ContainerName: ContainerName as string,
      ResourceName: ResourceName as string,
      DeviceIDs: readLists(DeviceIDs ?? {}, 'DeviceIDs'),
      AllocResp: bytesOf((AllocResp ?? '') as string),
    };
  });
}

function readLists(value: unknown, name: string): Readonly<Record<string, readonly string[]>> {
  if (!isJsonObject(value)) throw new Error(`${name} is not an object`);
  const lists = Object.entries(value).map(([key, list]): [string, readonly string[]] => {
    const texts = list ?? [];
    if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
      throw new Error(`${name} has something else than lists of IDs`);
    return [key, texts];
  });
  return Object.fromEntries(lists);
}

/** Of the content as Go's go-spew prints it with its types, which is what the kubelet hashes. */
function checksum({ entries, registered }: DevicesCheckpoint): number {
  const listed = entries.length === 0 ? '<nil>' : printed(entries.map(printedEntry));
  const resources = Object.keys(registered).toSorted(byCodeUnits);
  const lists = resources.map((resource) => `${resource}:${printed(registered[resource])}`);
  return fnv1a32(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${listed} RegisteredDevices:(map[string][]string)map${printed(lists)}}`,
  );
}

function printedEntry({
  PodUID,
  ContainerName,
  ResourceName,
  DeviceIDs,
  AllocResp,
}: CheckpointEntry): string {
  const nodes = Object.keys(DeviceIDs).toSorted((a, b) => Number(a) - Number(b));
  const ids = printed(nodes.map((node) => `${node}:${printed(DeviceIDs[node])}`));
  const names = `PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName}`;
  return `{${names} DeviceIDs:(checkpoint.DevicesPerNUMA)map${ids} AllocResp:([]uint8)${printed(AllocResp)}}`;
}

function printed(items: readonly (string | number)[] = []): string {
  return `[${items.join(' ')}]`;
}

function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
