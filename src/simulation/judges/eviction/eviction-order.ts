/** Which of two pods has to be evicted first, by the figures that the agent received. */
import { resourceAmount } from '../../../agent/policies/admission/used-resources.ts';
import type { FileSystemLayout } from '../../../agent/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../../agent/policies/eviction/signals.ts';
import { parseQuantity } from '../../../agent/policies/formats/quantity.ts';
import { podRequest } from '../../../agent/policies/pod/resources.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { type DiskUse, type NodeUse, NOTHING, type StorageUse, sumOf } from '../../resources/node-use.ts';
import { type PodRecord, priorityOf } from '../pod-records.ts';

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
  return resourceAmount(resource, podRequest(pod, resource));
}

/** The limits of local storage that a pod exceeds, by the figures that the agent received and by the names under which evictions are counted. */
export function exceededLimits(
  { spec }: Pod,
  use: StorageUse,
  { dedicatedImageFs }: FileSystemLayout,
): readonly string[] {
  const limits = new Map(spec.containers.map((container) => [container.name, limitOf(container)]));
  const known = [...limits.values()].filter((limit) => limit !== undefined);
  const together = known.reduce((sum, limit) => sum + limit, 0);
  const isVolumeOver = (spec.volumes ?? []).some(({ name, emptyDir }) => {
    const limit = emptyDir?.sizeLimit;
    return limit != null && (use.volumes.get(name) ?? NOTHING).bytes > inBytes(limit);
  });
  const isContainerOver = use.containers.some(({ name, layer, logs }) => {
    const used = logs.bytes + (dedicatedImageFs ? 0 : layer.bytes);
    return used > (limits.get(name) ?? Infinity);
  });
  return [
    ...(isVolumeOver ? ['emptydirfs.limit'] : []),
    ...(known.length > 0 && use.whole.bytes > together ? ['ephemeralpodfs.limit'] : []),
    ...(isContainerOver ? ['ephemeralcontainerfs.limit'] : []),
  ];
}

function limitOf({ resources }: Container): number | undefined {
  const limit = resources?.limits?.['ephemeral-storage'];
  return limit === undefined ? undefined : inBytes(limit);
}

function inBytes(text: string): number {
  return resourceAmount('ephemeral-storage', parseQuantity(text));
}
