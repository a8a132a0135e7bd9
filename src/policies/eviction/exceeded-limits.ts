/** Pods that exceed their own limits of local storage. They are evicted whatever the node has left. */
import type { Pod } from '../../types/kubernetes.ts';
import type { PodStats } from '../../types/stats.ts';
import { wholeQuantity } from './observations.ts';
import { usedBytes } from './pod-usage.ts';
import { parseQuantity, type Quantity, quantityString } from '../formats/quantity.ts';
import { podLimits } from '../pod/resources.ts';
import { named } from '../formats/lookups.ts';

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
