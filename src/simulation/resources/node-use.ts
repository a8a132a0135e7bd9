/** What of a node is used, and by whom, at one moment. */
import type { EvictionSignal } from '../../policies/eviction/signals.ts';

export interface NodeUse {
  readonly atMs: number;
  /** How much is left, by signal: of what the node may run short of, as far as it was measured. */
  readonly left: ReadonlyMap<EvictionSignal, number>;
  /** By UID, those of which something runs. */
  readonly pods: ReadonlyMap<string, PodUse>;
}

/** 0 of what the node cannot run short of. */
export interface PodUse {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Undefined on a node whose disks never get full, and where it was not measured. */
  readonly storage: StorageUse | undefined;
}

export interface DiskUse {
  readonly bytes: number;
  readonly inodes: number;
}

/** What a pod has on the disks of its node. */
export interface StorageUse {
  /** It takes its time to find that out: it may be known from before. */
  readonly atMs: number;
  /** Those that run. The logs are those of earlier instances as well. */
  readonly containers: readonly ContainerUse[];
  readonly volumes: ReadonlyMap<string, DiskUse>;
  /** All of it, save the writable layers of what does not run any more. */
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
