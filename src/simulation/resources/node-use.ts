/** What is left of a node's resources, and what each pod uses, at one moment. */
import type { EvictionSignal } from '../../policies/eviction/signals.ts';

export interface NodeUse {
  readonly atMs: number;
  /** How much is left, by signal: only of resources that the node can run short of, and that were measured. */
  readonly left: ReadonlyMap<EvictionSignal, number>;
  /** By UID, pods with something running. */
  readonly pods: ReadonlyMap<string, PodUse>;
}

/** 0 for resources that the node cannot run short of. */
export interface PodUse {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Undefined on a node whose disks never get full, and if it was not measured. */
  readonly storage: StorageUse | undefined;
}

export interface DiskUse {
  readonly bytes: number;
  readonly inodes: number;
}

/** What a pod has on the disks of its node. */
export interface StorageUse {
  /** When it was measured: measuring takes time, so it may be from before. */
  readonly atMs: number;
  /** Running containers. The logs include those of earlier instances. */
  readonly containers: readonly ContainerUse[];
  readonly volumes: ReadonlyMap<string, DiskUse>;
  /** Everything but the writable layers of dead containers. */
  readonly whole: DiskUse;
}

export interface ContainerUse {
  readonly name: string;
  readonly layer: DiskUse;
  readonly logs: DiskUse;
}

export const NOTHING: DiskUse = { bytes: 0, inodes: 0 };

export function sumOf(uses: Iterable<DiskUse>): DiskUse {
  let [bytes, inodes] = [0, 0];
  for (const use of uses) {
    bytes += use.bytes;
    inodes += use.inodes;
  }
  return { bytes, inodes };
}
