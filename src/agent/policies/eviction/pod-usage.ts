/** How much a pod uses of the resource that is short. */
import type { Pod } from '../../../types/kubernetes.ts';
import type { ContainerStats, FsStats, PodStats, Summary } from '../../../types/stats.ts';
import { named } from '../formats/lookups.ts';
import { parseQuantity, type Quantity, quantityString } from '../formats/quantity.ts';
import { podLimits } from '../pod/resources.ts';
import type { PodFsPart } from './file-system-parts.ts';
import { wholeQuantity } from './observations.ts';
import type { StarvedResource } from './signals.ts';

type StatsByUID = ReadonlyMap<string, PodStats>;

export function statsByUID({ pods }: Summary): StatsByUID {
  return new Map(pods.map((stats) => [stats.podRef.uid, stats]));
}

/** Bytes, inodes, processes, or bytes per second. On disks only `parts` count. What is not measured counts as 0. */
export function podUsage(
  pod: Pod,
  stats: PodStats,
  resource: StarvedResource,
  parts: readonly PodFsPart[],
): number {
  switch (resource) {
    case 'memory':
      return stats.memory?.workingSetBytes ?? 0;
    case 'pids':
      return stats.process_stats?.process_count ?? 0;
    case 'io':
      return stats.io?.bytesPerSecond ?? 0;
    default:
      return diskUsage(pod, stats, parts, resource === 'inodes' ? usedInodes : usedBytes);
  }
}

type Measure = (stats: FsStats | undefined) => number;

function usedBytes(stats: FsStats | undefined): number {
  return stats?.usedBytes ?? 0;
}

function usedInodes(stats: FsStats | undefined): number {
  return stats?.inodesUsed ?? 0;
}

function diskUsage(pod: Pod, stats: PodStats, parts: readonly PodFsPart[], used: Measure): number {
  let sum = 0;
  for (const container of stats.containers ?? []) sum += containerUsage(container, parts, used);
  if (!parts.includes('localVolumeSource')) return sum;
  for (const volume of pod.spec.volumes ?? [])
    if (isLocal(volume)) sum += used(named(stats.volume ?? [], volume.name));
  return sum;
}

function containerUsage(
  { rootfs, logs }: ContainerStats,
  parts: readonly PodFsPart[],
  used: Measure,
): number {
  return (parts.includes('root') ? used(rootfs) : 0) + (parts.includes('logs') ? used(logs) : 0);
}

type Volume = NonNullable<Pod['spec']['volumes']>[number];

/** Whether the volume lies on a disk of the node. */
function isLocal(volume: Volume): boolean {
  const { hostPath, emptyDir, configMap, secret, downwardAPI, gitRepo } = volume;
  if (emptyDir && emptyDir.medium !== 'Memory') return true;
  return [hostPath, configMap, secret, downwardAPI, gitRepo].some((source) => source != null);
}

// Pods that exceed their own limits of local storage. They are evicted whatever the node has left.

/** Evictions are counted by these limits, and by the signals of the node. */
type LimitSignal = 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';

export interface ExceededLimit {
  readonly signal: LimitSignal;
  /** In the kubelet's words. */
  readonly message: string;
  readonly used: string;
  readonly limit: string;
}

const EPHEMERAL_STORAGE = 'ephemeral-storage';

/** The first limit that the pod exceeds: that of an emptyDir, of the pod as a whole, of a container. */
export function exceededStorageLimit(
  pod: Pod,
  stats: PodStats,
  { dedicatedImageFs }: { readonly dedicatedImageFs: boolean },
): ExceededLimit | undefined {
  return (
    exceededEmptyDir(pod, stats) ?? exceededPod(pod, stats) ?? exceededContainer(pod, stats, dedicatedImageFs)
  );
}

/** Whether the pod has a limit of its own that it could exceed. */
export function hasStorageLimit(pod: Pod): boolean {
  return limitsStorage(pod) || (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit != null);
}

/** An emptyDir of any medium. A limit of 0 is no limit. */
function exceededEmptyDir({ spec }: Pod, { volume: stats = [] }: PodStats): ExceededLimit | undefined {
  const limited = (spec.volumes ?? []).filter(({ emptyDir }) => emptyDir?.sizeLimit != null);
  if (limited.length === 0) return undefined;
  // Of several with one name the last counts.
  const measured = new Map(stats.map((one) => [one.name, one]));
  for (const { name, emptyDir } of limited) {
    if (emptyDir?.sizeLimit == null) continue;
    const used = measured.get(name)?.usedBytes;
    const limit = parseQuantity(emptyDir.sizeLimit);
    if (used === undefined || limit.nanos <= 0n || !isAbove(used, limit)) continue;
    const message = `Usage of EmptyDir volume "${name}" exceeds the limit "${quantityString(limit)}". `;
    return exceeded('emptydirfs.limit', used, limit, message);
  }
  return undefined;
}

/** The limit of all containers together; here 0 is a limit. */
function exceededPod(pod: Pod, stats: PodStats): ExceededLimit | undefined {
  if (!limitsStorage(pod)) return undefined;
  const limit = podLimits(pod).get(EPHEMERAL_STORAGE);
  const used = usedBytes(stats[EPHEMERAL_STORAGE]);
  if (limit === undefined || !isAbove(used, limit)) return undefined;
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${quantityString(limit)}. `;
  return exceeded('ephemeralpodfs.limit', used, limit, message);
}

/** Checked first, because sums of limits are slow and most pods have no such limit. */
function limitsStorage({ spec }: Pod): boolean {
  return [...spec.containers, ...(spec.initContainers ?? [])].some(
    ({ resources }) => resources?.limits?.[EPHEMERAL_STORAGE] !== undefined,
  );
}

/** If images have a file system of their own, the writable layer of a container does not count. A limit of 0 is no limit. */
function exceededContainer(
  { spec }: Pod,
  { containers: stats = [] }: PodStats,
  dedicatedImageFs: boolean,
): ExceededLimit | undefined {
  for (const { name, logs, rootfs } of stats) {
    const container = named(spec.containers, name);
    const text = container?.resources?.limits?.[EPHEMERAL_STORAGE];
    if (text === undefined) continue;
    const limit = parseQuantity(text);
    const used = usedBytes(logs) + (dedicatedImageFs ? 0 : usedBytes(rootfs));
    if (limit.nanos === 0n || !isAbove(used, limit)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${quantityString(limit)}". `;
    return exceeded('ephemeralcontainerfs.limit', used, limit, message);
  }
  return undefined;
}

function isAbove(used: number, limit: Quantity): boolean {
  return wholeQuantity(BigInt(used), 'BinarySI').nanos > limit.nanos;
}

function exceeded(signal: LimitSignal, used: number, limit: Quantity, message: string): ExceededLimit {
  const usedText = quantityString(wholeQuantity(BigInt(used), 'BinarySI'));
  return { signal, message, used: usedText, limit: quantityString(limit) };
}
