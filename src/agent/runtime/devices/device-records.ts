import type { AllocatedContainer } from '../../policies/devices/container-devices.ts';
import { byNumaNode, type Devices, WITHOUT_NUMA_NODE } from '../../policies/devices/device-list.ts';
import type { CheckpointEntry } from '../../policies/devices/devices-checkpoint.ts';
import { isRestartableInitContainer } from '../../policies/pod-actions/restart.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { allocatedContainer } from './device-messages.ts';

export interface DeviceRecord {
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
  /** IDs by NUMA node, as they were when the container got them. */
  readonly byNode: ReadonlyMap<number, readonly string[]>;
  /** Undefined while the devices are only set aside: `Allocate` has not been answered yet. */
  readonly answer: AllocatedContainer | undefined;
  /** Where the topology manager wants them; undefined: anywhere. */
  readonly numaNodes?: readonly number[] | undefined;
}

/** Which devices the containers of this node have, by the UIDs of their pods. */
export class DeviceRecords {
  readonly #pods = new Map<string, readonly DeviceRecord[]>();

  get pods(): readonly string[] {
    return [...this.#pods.keys()];
  }

  hasPod(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** What is set aside for the pod, and for which `Allocate` has not been answered. */
  setAside(uid: string): readonly DeviceRecord[] {
    return (this.#pods.get(uid) ?? []).filter(({ answer }) => answer === undefined);
  }

  /** What the container has, and what is set aside for it. */
  of(uid: string, container: string): readonly DeviceRecord[] {
    return (this.#pods.get(uid) ?? []).filter((record) => record.container === container);
  }

  find(uid: string, container: string, resource: string): DeviceRecord | undefined {
    return this.of(uid, container).find((record) => record.resource === resource);
  }

  set(uid: string, record: Omit<DeviceRecord, 'byNode'>, devices: Devices): void {
    this.drop(uid, record.container, record.resource);
    const byNode = byNumaNode(record.ids, devices);
    this.#pods.set(uid, [...(this.#pods.get(uid) ?? []), { ...record, byNode }]);
  }

  drop(uid: string, container: string, resource: string): void {
    const rest = (this.#pods.get(uid) ?? []).filter(
      (record) => record.container !== container || record.resource !== resource,
    );
    if (rest.length > 0) this.#pods.set(uid, rest);
    else this.#pods.delete(uid);
  }

  /** Frees the devices that are only set aside for the container. */
  dropReserved(uid: string, container: string): void {
    for (const record of this.setAside(uid))
      if (record.container === container) this.drop(uid, container, record.resource);
  }

  /** Frees all devices of the pod. Returns whether it had any. */
  release(uid: string): boolean {
    return this.#pods.delete(uid);
  }

  /** The IDs of the resource that containers hold. */
  allocated(resource: string): ReadonlySet<string> {
    return new Set(this.#all().flatMap(([, record]) => (record.resource === resource ? record.ids : [])));
  }

  /** How many of each resource are held. */
  counts(): ReadonlyMap<string, number> {
    const names = new Set(this.#all().map(([, { resource }]) => resource));
    return new Map(Array.from(names, (name) => [name, this.allocated(name).size]));
  }

  /** The UIDs of the pods that hold one of these devices, or any of the resource. */
  holders(resource: string, ids?: ReadonlySet<string>): readonly string[] {
    const held = this.#all().filter(
      ([, record]) =>
        record.resource === resource && (ids === undefined || record.ids.some((id) => ids.has(id))),
    );
    return [...new Set(held.map(([uid]) => uid))];
  }

  /** Devices of the pod's init containers that no sidecar and no regular container has got: a later container may use them. */
  reusable({ metadata, spec }: Pod, resource: string): ReadonlySet<string> {
    const ending = new Set(
      (spec.initContainers ?? []).filter((one) => !isRestartableInitContainer(one)).map(({ name }) => name),
    );
    const all = (this.#pods.get(metadata.uid) ?? []).filter((record) => record.resource === resource);
    const ids = (isEnding: boolean) =>
      all.flatMap((record) => (ending.has(record.container) === isEnding ? record.ids : []));
    const kept = new Set(ids(false));
    return new Set(ids(true).filter((id) => !kept.has(id)));
  }

  entries(): readonly CheckpointEntry[] {
    return this.#all().flatMap(([uid, { container, resource, byNode, answer }]) =>
      answer === undefined
        ? []
        : {
            PodUID: uid,
            ContainerName: container,
            ResourceName: resource,
            DeviceIDs: Object.fromEntries(byNode),
            AllocResp: [...allocatedContainer.encode(answer)],
          },
    );
  }

  /** An entry whose answer cannot be read is left out. Returns how many were. */
  recall(entries: readonly CheckpointEntry[]): number {
    let unreadable = 0;
    for (const { PodUID, ContainerName: container, ResourceName: resource, ...entry } of entries) {
      const byNode = new Map(Object.entries(entry.DeviceIDs).map(([node, ids]) => [nodeNumber(node), ids]));
      const ids = [...new Set([...byNode.values()].flat())];
      try {
        const answer = allocatedContainer.decode(Buffer.from(entry.AllocResp));
        const record = { container, resource, ids, byNode, answer };
        this.#pods.set(PodUID, [...(this.#pods.get(PodUID) ?? []), record]);
      } catch {
        unreadable += 1;
      }
    }
    return unreadable;
  }

  #all(): readonly (readonly [string, DeviceRecord])[] {
    return [...this.#pods].flatMap(([uid, records]) => records.map((record) => [uid, record] as const));
  }
}

function nodeNumber(text: string): number {
  const node = Number(text);
  return Number.isSafeInteger(node) ? node : WITHOUT_NUMA_NODE;
}
