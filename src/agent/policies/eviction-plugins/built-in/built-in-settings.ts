/** Thresholds of the built-in eviction plugins. Where Katalyst has a setting, its default is the default here; others say why. */
import type { BuiltInSettings } from '../../../../types/built-in-thresholds.ts';
import { RECLAIMED_MEMORY, RECLAIMED_MILLICPU } from './built-in-pods.ts';

const OWN_GRACE_PERIOD = -1;
const GIB = 2 ** 30;

export const DEFAULT_BUILT_IN_SETTINGS: BuiltInSettings = {
  reclaimedResources: {
    evictionThreshold: { [RECLAIMED_MILLICPU]: 5, [RECLAIMED_MEMORY]: 5 },
    softEvictionThreshold: { [RECLAIMED_MILLICPU]: 1.5, [RECLAIMED_MEMORY]: 1.2 },
    // Ours: Katalyst gets its figure from an advisor that has smoothed it, and tolerates 0 s.
    toleranceSeconds: 60,
    gracePeriodSeconds: 60,
    skippedAtZero: [],
  },
  numaMemory: { isEnabled: true, smallestShare: 0.001, timesReclaimed: 6, timesAny: 12, fastTimes: 1 },
  systemMemory: {
    isEnabled: true,
    freeMinimumBytes: 0,
    kswapdPagesPerSecond: 2000,
    kswapdDurationMs: 120_000,
    somePercent: 15,
    fullPercent: 4,
    waitDurationMs: 15_000,
    coolDownMs: 35_000,
  },
  rssOveruse: { allPods: false, factor: 1.05, labels: {} },
  memoryGrace: { reclaimedGracePeriodSeconds: 1, gracePeriodSeconds: OWN_GRACE_PERIOD },
  rootfsPressure: {
    isEnabled: false,
    minimumFree: '',
    minimumInodesFree: '',
    podMinimumUsed: '',
    podMinimumInodesUsed: '',
    reclaimedPriorityUsed: '',
    reclaimedPriorityInodesUsed: '',
    minimumCapacityBytes: 10 * GIB,
  },
  rootfsOveruse: {
    isEnabled: false,
    qosLevels: ['shared_cores'],
    sharedThreshold: '',
    reclaimedThreshold: '',
    sharedNamespaces: ['default'],
    count: 1,
  },
  rootfsGrace: { gracePeriodSeconds: OWN_GRACE_PERIOD },
  // Ours: Katalyst's grace period of 0 would kill containers at once.
  nicHealth: { isEnabled: false, toleranceMs: 300_000, gracePeriodSeconds: OWN_GRACE_PERIOD },
  cpuLoad: {
    isEnabled: false,
    upperBoundRatio: 1.8,
    lowerBoundRatio: 1,
    metPercentage: 0.8,
    ringSize: 10,
    coolDownMs: 300_000,
    syncPeriodMs: 30_000,
  },
  cpuSuppression: { isEnabled: false, maxToleranceRate: 5, minToleranceMs: 300_000 },
  cpuGrace: { gracePeriodSeconds: OWN_GRACE_PERIOD },
  numaCpu: {
    isEnabled: false,
    // Katalyst has a ratio for each model of processor, from 0.47 to 0.6.
    usageRatio: 0.55,
    expandFactor: 1.1,
    metPercentage: 0.7,
    ringSize: 4,
    skippedPodKinds: [],
    gracePeriodSeconds: OWN_GRACE_PERIOD,
  },
  numaSysCpu: {
    isEnabled: false,
    softUsage: 0.4,
    hardUsage: 0.5,
    softSystemShare: 0.4,
    hardSystemShare: 0.5,
    evictionSystemShare: 0.3,
    metPercentage: 0.7,
    ringSize: 4,
    syncPeriodMs: 10_000,
    gracePeriodSeconds: 60,
  },
};
