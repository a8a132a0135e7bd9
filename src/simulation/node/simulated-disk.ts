import type { KnownContainer, PodAllocation } from '../../types/runtime-pod.ts';

/** The folder of a pod on the disk of a simulated node. The next agent on the node finds it. */
export interface PodFolder {
  startTime?: string;
  /** Something of its volumes is mounted. */
  mounted: boolean;
  /** Unix ms. */
  mountedAt: number;
  /** By container name: how many instances have logs. */
  readonly instances: Map<string, number>;
  /** By id of the container: what agents have stored about it. */
  readonly known: Map<string, KnownContainer>;
  /** What a resize has granted the pod. */
  allocation?: PodAllocation;
  /** The volumes into which the agent has written files, by name: contents by path. */
  readonly volumes: Map<string, ReadonlyMap<string, string>>;
}

export type SimulatedDisk = Map<string, PodFolder>;

export function newFolder(): PodFolder {
  return { mounted: false, mountedAt: 0, instances: new Map(), known: new Map(), volumes: new Map() };
}

export function folderOf(disk: SimulatedDisk, uid: string): PodFolder {
  const folder = disk.get(uid) ?? newFolder();
  disk.set(uid, folder);
  return folder;
}
