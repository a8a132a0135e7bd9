/** Which of two pods has to be evicted first, by the figures that the agent received. */
import type { FileSystemLayout } from '../../../policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../../policies/eviction/signals.ts';
import { countedAmount } from '../../../policies/admission/held-resources.ts';
import { podRequest } from '../../../policies/pod/resources.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { type DiskUse, type NodeUse, type StorageUse, sumOf } from '../../resources/node-use.ts';
import { priorityOf, type PodRecord } from '../pod-records.ts';

/** What a pod is evicted for. */
export interface Cause {
  readonly signal: EvictionSignal;
  readonly layout: FileSystemLayout;
}

/** Pods that use more than they request come first, then those of lower priority, then those furthest above their request. */
export function goesBefore(one: PodRecord, other: PodRecord, cause: Cause, use: NodeUse): boolean {
  const [a, b] = [standingOf(one, cause, use), standingOf(other, cause, use)];
  if (a.isOver !== b.isOver) return a.isOver;
  const byPriority = priorityOf(one.pod) - priorityOf(other.pod);
  return byPriority === 0 ? a.excess > b.excess : byPriority < 0;
}

interface Standing {
  readonly isOver: boolean;
  readonly excess: number;
}

function standingOf({ uid, pod }: PodRecord, cause: Cause, { pods }: NodeUse): Standing {
  const use = pods.get(uid);
  if (pod === undefined || use === undefined) return { isOver: false, excess: 0 };
  // Processes cannot be requested: every pod counts as using more than it requests.
  if (cause.signal === 'pid.available') return { isOver: true, excess: use.processes };
  if (cause.signal.endsWith('emory.available')) {
    const excess = use.memoryBytes - requestOf(pod, 'memory');
    return { isOver: excess > 0, excess };
  }
  const { bytes, inodes } = use.storage === undefined ? { bytes: 0, inodes: 0 } : onDisk(use.storage, cause);
  const requested = requestOf(pod, 'ephemeral-storage');
  if (!cause.signal.endsWith('inodesFree')) return { isOver: bytes > requested, excess: bytes - requested };
  // Inodes cannot be requested; the kubelet subtracts the requested bytes, which is odd.
  return { isOver: inodes > 0, excess: inodes - requested };
}

/** What the pod has on the file system that is short. */
function onDisk({ containers, volumes }: StorageUse, { signal, layout }: Cause): DiskUse {
  const { dedicatedImageFs, splitContainerFs } = layout;
  const isOfNode = !signal.startsWith('imagefs');
  const hasLayers = !dedicatedImageFs || isOfNode === splitContainerFs;
  const hasOthers = !dedicatedImageFs || isOfNode;
  return sumOf([
    ...(hasLayers ? containers.map(({ layer }) => layer) : []),
    ...(hasOthers ? [...containers.map(({ logs }) => logs), ...volumes.values()] : []),
  ]);
}

function requestOf(pod: Pod, resource: string): number {
  return countedAmount(resource, podRequest(pod, resource));
}
