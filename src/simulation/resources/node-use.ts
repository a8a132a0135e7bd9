/** What is left of a node's resources, and what each pod uses, at one moment. */
import type { EvictionSignal } from '../../agent/policies/eviction/signals.ts';
import type { ContainerTruth, SandboxTruth } from '../runtime/witness.ts';
import { grown, type Growth } from './growth.ts';

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

export interface RunningTruth {
  uids(): readonly string[];
  sandboxesOf(uid: string): Iterable<SandboxTruth>;
}

export interface Takers {
  /** What a sandbox uses without its containers. */
  readonly sandbox: number;
  /** The same for every instance of a container. */
  readonly container: (container: ContainerTruth) => Growth;
}

/** What pods use of resources that they hold only while they run: memory, processes. By UID, of pods with something running. */
export function runningUse(runtime: RunningTruth, atMs: number, takers: Takers): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const uid of runtime.uids()) {
    const amount = useOf(runtime.sandboxesOf(uid), atMs, takers);
    if (amount > 0) used.set(uid, amount);
  }
  return used;
}

function useOf(sandboxes: Iterable<SandboxTruth>, atMs: number, takers: Takers): number {
  let sum = 0;
  for (const { ready, containers } of sandboxes) {
    if (ready) sum += takers.sandbox;
    for (const container of containers)
      if (container.state === 'CONTAINER_RUNNING')
        sum += grown(takers.container(container), atMs - container.startedAt);
  }
  return sum;
}

export function total(used: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const amount of used.values()) sum += amount;
  return sum;
}
