/** The devices of a resource, as its plugin lists them. */

export interface Device {
  /** It may be given to containers. */
  readonly isHealthy: boolean;
  /** The NUMA nodes that it is near to; empty where the plugin does not say. */
  readonly numaNodes: readonly number[];
}

/** By ID, in the order of the plugin. */
export type Devices = ReadonlyMap<string, Device>;

/** A device as it is on the wire. */
export interface ListedDevice {
  readonly ID: string;
  readonly health: string;
  readonly topology?: { readonly nodes: readonly { readonly ID: number }[] } | undefined;
}

export interface DeviceList {
  readonly devices: Devices;
  /** How many were left out: without an ID, or with one that is too long. */
  readonly refused: number;
}

const HEALTHY = 'Healthy';
const ID_MAX_LENGTH = 1024;
const NUMA_NODES_MAX = 64;

/** Of two devices with one ID the later one counts, as with the kubelet. */
export function deviceList(listed: readonly ListedDevice[]): DeviceList {
  const devices = new Map<string, Device>();
  let refused = 0;
  for (const { ID, health, topology } of listed) {
    if (ID === '' || ID.length > ID_MAX_LENGTH) refused += 1;
    else devices.set(ID, { isHealthy: health === HEALTHY, numaNodes: numaNodesOf(topology?.nodes ?? []) });
  }
  return { devices, refused };
}

function numaNodesOf(nodes: readonly { readonly ID: number }[]): readonly number[] {
  if (nodes.length === 0) return [];
  const known = new Set(nodes.map(({ ID }) => ID).filter((id) => Number.isSafeInteger(id) && id >= 0));
  return [...known].slice(0, NUMA_NODES_MAX).sort((a, b) => a - b);
}

export function healthyIds(devices: Devices): readonly string[] {
  return [...devices].flatMap(([id, { isHealthy }]) => (isHealthy ? [id] : []));
}

/** Whether the plugin names NUMA nodes: then it matters which devices a container gets. */
export function hasTopology(devices: Devices): boolean {
  for (const { numaNodes } of devices.values()) if (numaNodes.length > 0) return true;
  return false;
}

/** IDs by NUMA node, as the kubelet records them: -1 for devices without one. A device near to several nodes stands under each. */
export function byNumaNode(ids: readonly string[], devices: Devices): ReadonlyMap<number, readonly string[]> {
  const byNode = new Map<number, string[]>();
  for (const id of ids) {
    const nodes = devices.get(id)?.numaNodes ?? [];
    for (const node of nodes.length === 0 ? [WITHOUT_NUMA_NODE] : nodes)
      byNode.set(node, [...(byNode.get(node) ?? []), id]);
  }
  return byNode;
}

export const WITHOUT_NUMA_NODE = -1;
