/** Thresholds of the built-in eviction plugins. Where Katalyst has a setting, its default is the default here; others say why. */
import type { Pod } from '../../../../types/kubernetes.ts';
import type { ResourceList } from '../../pod/resources.ts';
import { isEvictable, knownQosLevel } from '../qos-level.ts';

/** Katalyst's names of what pods of `reclaimed_cores` request: processor time, and memory, that others leave unused. */
export const RECLAIMED_MILLICPU = 'resource.katalyst.kubewharf.io/reclaimed_millicpu';
export const RECLAIMED_MEMORY = 'resource.katalyst.kubewharf.io/reclaimed_memory';

/** Factors by the name of the resource. */
type Factors = Readonly<Record<string, number>>;

export interface ReclaimedResourcesSettings {
  /** A pod goes if requests are more than so many times what the node can give. Resources without a factor do not count. */
  readonly evictionThreshold: Factors;
  /** From here on, pods that ask for a notice get one. */
  readonly softEvictionThreshold: Factors;
  /** What the node can give, by the name of the resource. Without it, it is found out from what other pods use. */
  readonly given: ResourceList | undefined;
  /** This part of allocatable is not given away: what others use changes from one question to the next. */
  readonly reservedPercent: number;
  /** How long it must be too little before a pod goes. */
  readonly toleranceSeconds: number;
  readonly gracePeriodSeconds: number;
}

export interface NumaMemorySettings {
  /** Pods with a smaller part of a node's memory stay: their end would not help. */
  readonly smallestShare: number;
  /** Below `low` for more than so many questions: pods of `reclaimed_cores` go. */
  readonly timesReclaimed: number;
  /** For so many: any pod. */
  readonly timesAny: number;
  /** Below `min` any pod goes after so many more questions. */
  readonly fastTimes: number;
  /** A node whose inactive page cache is smaller than this is short of memory before its watermarks say so. */
  readonly cacheReserveBytes: number;
  /** Added then to both watermarks. With much cache nothing is: the kernel lets it grow until memory is near `low`, and gives it back. */
  readonly gapBytes: number;
  /** Added then to `low`, so that kswapd is not woken and put to sleep in turn. */
  readonly lowGuardBytes: number;
  /** The three amounts are meant for a NUMA node of this size; of a smaller one they take the same part. */
  readonly referenceNodeBytes: number;
}

export interface SystemMemorySettings {
  /** Pods of `reclaimed_cores` go if less is free than this, or than the distance between two watermarks. */
  readonly freeMinimumBytes: number;
  /** Any pod goes if kswapd has taken back so many pages a second for so long. */
  readonly kswapdPagesPerSecond: number;
  readonly kswapdDurationMs: number;
  /** And some task waited so many percent of the last ten seconds: a program that reads many files keeps kswapd busy and harms no other. */
  readonly kswapdSomePercent: number;
  /** In percent of the last ten seconds: some tasks waited for memory, and all tasks that were not idle did. */
  readonly somePercent: number;
  readonly fullPercent: number;
  /** After so long pods of `reclaimed_cores` go, after three times as long any pod. */
  readonly waitDurationMs: number;
  /** So many pods that are not reclaimed must have waited, for more than this: one that fights its own limit is not the machine. */
  readonly waitingPods: number;
  readonly waitingPodPercent: number;
  /** After an answer with pods no others are named for so long: memory comes back only once a pod has ended. */
  readonly coolDownMs: number;
}

export interface RssOveruseSettings {
  /** Otherwise only pods that name a factor of their own are looked at. Katalyst's `enable-rss-overuse`, which is off too. */
  readonly allPods: boolean;
  /** Of pods that name none. */
  readonly factor: number;
  /** Only pods with these labels. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface BuiltInSettings {
  readonly reclaimedResources: ReclaimedResourcesSettings;
  readonly numaMemory: NumaMemorySettings;
  readonly systemMemory: SystemMemorySettings;
  readonly rssOveruse: RssOveruseSettings;
  /** Of pods that go because memory is short. The pods of `reclaimed_cores` can be started elsewhere: they have little time. */
  readonly reclaimedGracePeriodSeconds: number;
  /** Undefined: the pod's own. */
  readonly gracePeriodSeconds: number | undefined;
}

const GIB = 2 ** 30;

export const DEFAULT_BUILT_IN_SETTINGS: BuiltInSettings = {
  reclaimedResources: {
    evictionThreshold: { [RECLAIMED_MILLICPU]: 5, [RECLAIMED_MEMORY]: 5 },
    softEvictionThreshold: { [RECLAIMED_MILLICPU]: 1.5, [RECLAIMED_MEMORY]: 1.5 },
    given: undefined,
    // Ours: Katalyst gets its figure from an advisor that has smoothed it, and tolerates 0 s.
    reservedPercent: 10,
    toleranceSeconds: 60,
    gracePeriodSeconds: 60,
  },
  numaMemory: {
    smallestShare: 0.001,
    timesReclaimed: 2,
    timesAny: 4,
    fastTimes: 1,
    cacheReserveBytes: 4 * GIB,
    gapBytes: GIB,
    lowGuardBytes: GIB / 4,
    // Ours: Katalyst takes the amounts as they are, and a node of 8 GiB would always be short of memory.
    referenceNodeBytes: 128 * GIB,
  },
  systemMemory: {
    freeMinimumBytes: 0,
    kswapdPagesPerSecond: 2000,
    kswapdDurationMs: 120_000,
    // Ours: Katalyst has given up the rate since, as it says little by itself.
    kswapdSomePercent: 1,
    somePercent: 15,
    fullPercent: 4,
    waitDurationMs: 15_000,
    waitingPods: 3,
    waitingPodPercent: 1,
    coolDownMs: 35_000,
  },
  rssOveruse: { allPods: false, factor: 1.05, labels: {} },
  reclaimedGracePeriodSeconds: 1,
  gracePeriodSeconds: undefined,
};

/** Which pods may go because memory is short. */
export type Reach = 'reclaimed' | 'any';

/**
 * The pods that may go, in the order in which they do: reclaimed ones before others, then a lower priority before a higher one, then more
 * memory before less. A pod that is not measured comes before those that are.
 */
export function memoryVictims(
  pods: readonly Pod[],
  reach: Reach,
  usedBytes: (pod: Pod) => number | undefined,
): readonly Pod[] {
  const candidates = pods.filter((pod) => isEvictable(pod) && (reach === 'any' || isReclaimed(pod)));
  const ranked = candidates.map((pod) => ({ pod, bytes: usedBytes(pod) ?? Infinity }));
  ranked.sort(
    (a, b) =>
      Number(isReclaimed(b.pod)) - Number(isReclaimed(a.pod)) ||
      priority(a.pod) - priority(b.pod) ||
      compare(b.bytes, a.bytes),
  );
  return ranked.map(({ pod }) => pod);
}

/** Undefined: the pods' own. */
export function victimGracePeriod(
  reach: Reach,
  settings: Pick<BuiltInSettings, 'gracePeriodSeconds' | 'reclaimedGracePeriodSeconds'>,
): number | undefined {
  return reach === 'any' ? settings.gracePeriodSeconds : settings.reclaimedGracePeriodSeconds;
}

export function isReclaimed(pod: Pod): boolean {
  return knownQosLevel(pod) === 'reclaimed_cores';
}

/** None is lower than any. */
function priority({ spec }: Pod): number {
  return spec.priority ?? Number.MIN_SAFE_INTEGER;
}

/** Two infinite numbers have no difference. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
