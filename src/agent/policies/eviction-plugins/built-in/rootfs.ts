/** When the file system of images and writable layers is short of space or inodes, and which pods write too much to it. */
import type {
  BuiltInSettings,
  RootfsOveruseSettings,
  RootfsPressureSettings,
} from '../../../../types/built-in-thresholds.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import type { FsStats, NodeStats, PodStats } from '../../../../types/stats.ts';
import { isEvictable, knownQosLevel } from '../qos-level.ts';
import {
  type Asked,
  type AskedForPods,
  type Candidates,
  type ChosenPods,
  type JudgedThreshold,
  nodeCondition,
} from './built-in-policy.ts';
import { bytesText, gracePeriodOf, isReclaimed } from './built-in-pods.ts';
import { thresholdAmount } from './threshold-text.ts';

/** What is short. */
export type RootfsKept = 'space' | 'inodes' | undefined;

/** The file system, and by UID what pods have written to it. */
export interface RootfsFacts {
  readonly fs: FsStats;
  readonly stats: ReadonlyMap<string, PodStats>;
}

const SCOPE = 'SystemRootfs';
const GIB = 2 ** 30;
/** As in Katalyst, a pod may always write so much, whatever the settings say. */
const LEAST_OVERUSE_BYTES = 20 * GIB;
const LEAST_OVERUSE_SHARE = 0.1;

/** Where writable layers are; without such figures the file system of the root folder. */
export function rootfsOf({ runtime, fs }: Pick<NodeStats, 'runtime' | 'fs'>): FsStats | undefined {
  return runtime?.containerFs ?? runtime?.imageFs ?? fs;
}

export function comparesRootfs({
  rootfsPressure: { minimumFree, minimumInodesFree },
}: BuiltInSettings): boolean {
  return minimumFree !== '' || minimumInodesFree !== '';
}

export function judgeRootfs(fs: FsStats, { settings }: Pick<Asked, 'settings'>): JudgedThreshold<RootfsKept> {
  const { minimumFree, minimumInodesFree, minimumCapacityBytes } = settings.rootfsPressure;
  const { availableBytes, capacityBytes, inodesFree, inodes } = fs;
  const isSmall = capacityBytes !== undefined && capacityBytes < minimumCapacityBytes;
  const shortages = [
    {
      kept: 'space' as const,
      free: isSmall ? undefined : availableBytes,
      least: thresholdAmount(minimumFree, capacityBytes),
    },
    { kept: 'inodes' as const, free: inodesFree, least: thresholdAmount(minimumInodesFree, inodes) },
  ];
  for (const { kept, free, least } of shortages) {
    if (free === undefined || least === undefined || free >= least) continue;
    const condition = nodeCondition(SCOPE, 'NoSchedule');
    return {
      kept,
      met: { metType: 'HARD_MET', scope: SCOPE, thresholdValue: least, observedValue: free, condition },
    };
  }
  return { kept: undefined };
}

/** Pods that are not measured stay. */
export function rootfsVictims(
  { fs, stats }: RootfsFacts,
  { pods, topN, settings }: AskedForPods,
  kept: RootfsKept,
): ChosenPods<RootfsKept> {
  const { whole, least, first, usedIn } = measureOf(kept ?? 'space', fs, settings.rootfsPressure);
  const ranked = pods.filter(isEvictable).flatMap((pod) => {
    const used = usedIn(stats.get(pod.metadata.uid));
    if (used === undefined) return [];
    const isFirst = isReclaimed(pod) && used > (thresholdAmount(first, whole) ?? Infinity);
    return isFirst || used >= (thresholdAmount(least, whole) ?? 0) ? [{ pod, used, isFirst }] : [];
  });
  ranked.sort((a, b) => Number(b.isFirst) - Number(a.isFirst) || b.used - a.used);
  const chosen = ranked.slice(0, topN).map(({ pod }) => pod);
  return { kept, pods: chosen, gracePeriodSeconds: gracePeriodOf(settings.rootfsGrace.gracePeriodSeconds) };
}

function measureOf(
  what: 'space' | 'inodes',
  { capacityBytes, inodes }: FsStats,
  settings: RootfsPressureSettings,
) {
  return what === 'space'
    ? {
        whole: capacityBytes,
        least: settings.podMinimumUsed,
        first: settings.reclaimedPriorityUsed,
        usedIn: bytesIn,
      }
    : {
        whole: inodes,
        least: settings.podMinimumInodesUsed,
        first: settings.reclaimedPriorityInodesUsed,
        usedIn: inodesIn,
      };
}

const bytesIn = (stats: PodStats | undefined) => usedIn(stats, ({ usedBytes }) => usedBytes);
const inodesIn = (stats: PodStats | undefined) => usedIn(stats, ({ inodesUsed }) => inodesUsed);

/** Of the writable layers; plain processes have none, and count with their storage. */
function usedIn(
  stats: PodStats | undefined,
  amountIn: (fs: FsStats) => number | undefined,
): number | undefined {
  const layers = (stats?.containers ?? []).flatMap(({ rootfs }) => (rootfs && amountIn(rootfs)) ?? []);
  if (layers.length > 0) return layers.reduce((sum, amount) => sum + amount, 0);
  const storage = stats?.['ephemeral-storage'];
  return storage && amountIn(storage);
}

/** The pods that could write too much: without one nothing needs to be measured. */
export function overuseLooksAt(pods: readonly Pod[], settings: RootfsOveruseSettings): readonly Pod[] {
  return pods.filter((pod) => isEvictable(pod) && overuseText(pod, settings) !== '');
}

/** Those that have written most come first. */
export function rootfsOveruse(
  { fs, stats }: RootfsFacts,
  { pods, settings: { rootfsOveruse: settings, rootfsGrace } }: Asked,
): Candidates<undefined> {
  const gracePeriodSeconds = gracePeriodOf(rootfsGrace.gracePeriodSeconds);
  const over = overuseLooksAt(pods, settings).flatMap((pod) => {
    const used = bytesIn(stats.get(pod.metadata.uid));
    const allowed = allowedBytes(overuseText(pod, settings), fs.capacityBytes);
    return used === undefined || allowed === undefined || used <= allowed ? [] : [{ pod, used, allowed }];
  });
  over.sort((a, b) => b.used - a.used);
  const evictPods = over.slice(0, settings.count).map(({ pod, used, allowed }) => ({
    pod,
    reason: `it has written ${bytesText(used)}, and may write ${bytesText(allowed)}`,
    forceEvict: false,
    gracePeriodSeconds,
  }));
  return { kept: undefined, evictPods };
}

function overuseText(
  pod: Pod,
  { qosLevels, sharedNamespaces, sharedThreshold, reclaimedThreshold }: RootfsOveruseSettings,
): string {
  const level = knownQosLevel(pod);
  if (level === undefined || !qosLevels.includes(level)) return '';
  if (level === 'reclaimed_cores') return reclaimedThreshold;
  const isIn = sharedNamespaces.includes(pod.metadata.namespace);
  return level === 'shared_cores' && isIn ? sharedThreshold : '';
}

function allowedBytes(text: string, capacityBytes: number | undefined): number | undefined {
  const amount = thresholdAmount(text, capacityBytes);
  const least = text.endsWith('%') ? (capacityBytes ?? 0) * LEAST_OVERUSE_SHARE : LEAST_OVERUSE_BYTES;
  return amount === undefined ? undefined : Math.max(amount, least);
}
