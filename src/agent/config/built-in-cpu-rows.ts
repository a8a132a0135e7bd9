/** Settings of the built-in eviction plugins for processors. */
import {
  ratio,
  seconds,
  isPositive,
  ringSize,
  grace,
  enabled,
  part,
  LEAST_PART,
  type Rows,
} from './built-in-rows.ts';
import { between, duration, number, oneList, timer } from './setting.ts';

const CPU = 'evictionPlugins.cpuPressureEvictionConfig';
const NUMA_CPU = `${CPU}.numaCPUPressureEvictionConfig`;
const NUMA_SYS_CPU = `${CPU}.numaSysCPUPressureEvictionConfig`;

export const CPU_ROWS: Pick<Rows, 'cpuLoad' | 'cpuSuppression' | 'cpuGrace' | 'numaCpu' | 'numaSysCpu'> = {
  cpuLoad: {
    isEnabled: enabled(
      'eviction-load-enable',
      `${CPU}.enableLoadEviction`,
      'pods go where far more tasks want to run than there are CPUs',
    ),
    upperBoundRatio: {
      flag: '--eviction-load-upper-bound-ratio <RATIO>',
      field: `${CPU}.loadUpperBoundRatio`,
      kind: ratio,
      problem: isPositive,
      description: 'a pod goes above this load, times the number of CPUs',
    },
    lowerBoundRatio: {
      flag: '--eviction-load-lower-bound-ratio <RATIO>',
      field: `${CPU}.loadLowerBoundRatio`,
      kind: ratio,
      problem: isPositive,
      description: 'above this one the node takes no more pods',
    },
    metPercentage: part(
      'eviction-load-threshold-met-percentage',
      `${CPU}.loadThresholdMetPercentage`,
      'in which part of the readings the load must be above it',
      LEAST_PART,
    ),
    ringSize: {
      flag: '--eviction-load-metric-ring-size <N>',
      field: `${CPU}.loadMetricRingSize`,
      kind: number,
      problem: ringSize,
      description: 'how many readings count',
    },
    coolDownMs: {
      flag: '--eviction-load-cool-down-time <DURATION>',
      field: `${CPU}.loadEvictionCoolDownTime`,
      kind: duration,
      problem: timer(0),
      description: 'after a pod has been named for load, none is for so long',
    },
    syncPeriodMs: {
      flag: '--eviction-load-sync-period <DURATION>',
      field: `${CPU}.loadEvictionSyncPeriod`,
      kind: duration,
      problem: timer(1),
      description: 'the shortest time between readings of the load',
    },
  },
  cpuSuppression: {
    isEnabled: enabled(
      'eviction-suppression-enable',
      `${CPU}.enableSuppressionEviction`,
      'a reclaimed pod that gets too little processor time is a candidate',
    ),
    maxToleranceRate: {
      flag: '--eviction-suppression-max-tolerance-rate <RATE>',
      field: `${CPU}.maxSuppressionToleranceRate`,
      kind: ratio,
      problem: isPositive,
      description: 'no pod tolerates that requests are more times what the node can give',
    },
    minToleranceMs: {
      flag: '--eviction-suppression-min-tolerance-duration <DURATION>',
      field: `${CPU}.minSuppressionToleranceDuration`,
      kind: duration,
      problem: timer(0),
      description: 'for how long requests must be more than a pod tolerates',
    },
  },
  cpuGrace: {
    gracePeriodSeconds: grace('eviction-cpu-grace-period', CPU, 'for load or suppression'),
  },
  numaCpu: {
    isEnabled: enabled(
      'numa-cpu-pressure-eviction-enable',
      `${NUMA_CPU}.enableEviction`,
      'pods go where the CPUs of a NUMA node are busy',
    ),
    usageRatio: {
      field: `${NUMA_CPU}.cpuUsageRatioThreshold`,
      kind: ratio,
      problem: between(LEAST_PART, 1),
      description: "which part of a NUMA node's processor time may be used",
    },
    expandFactor: {
      flag: '--numa-cpu-pressure-eviction-threshold-expand-factor <FACTOR>',
      field: `${NUMA_CPU}.thresholdExpandFactor`,
      kind: ratio,
      problem: isPositive,
      description: 'a pod goes above so many times that part',
    },
    metPercentage: part(
      'numa-cpu-pressure-eviction-threshold-met-percentage',
      `${NUMA_CPU}.thresholdMetPercentage`,
      'in which part of the readings it must be above it',
      LEAST_PART,
    ),
    ringSize: {
      flag: '--numa-cpu-pressure-eviction-metric-ring-size <N>',
      field: `${NUMA_CPU}.metricRingSize`,
      kind: number,
      problem: ringSize,
      description: 'how many readings of NUMA nodes count',
    },
    skippedPodKinds: {
      flag: '--numa-cpu-pressure-eviction-skipped-pod-kinds <LIST>',
      field: `${NUMA_CPU}.skippedPodKinds`,
      kind: oneList,
      description: 'a pod that belongs to one of these stays, such as DaemonSet',
    },
    gracePeriodSeconds: grace(
      'numa-cpu-pressure-eviction-grace-period',
      NUMA_CPU,
      'for the CPUs of a NUMA node',
    ),
  },
  numaSysCpu: {
    isEnabled: enabled(
      'numa-sys-cpu-pressure-eviction-enable',
      `${NUMA_SYS_CPU}.enableEviction`,
      'pods go where the kernel takes much time of the CPUs of a NUMA node',
    ),
    softUsage: part(
      'numa-sys-cpu-pressure-eviction-numa-cpu-usage-soft-threshold',
      `${NUMA_SYS_CPU}.numaCPUUsageSoftThreshold`,
      "the node is tainted if more of a NUMA node's processor time is used",
      LEAST_PART,
    ),
    hardUsage: part(
      'numa-sys-cpu-pressure-eviction-numa-cpu-usage-hard-threshold',
      `${NUMA_SYS_CPU}.numaCPUUsageHardThreshold`,
      "a pod goes if more of a NUMA node's processor time is used",
      LEAST_PART,
    ),
    softSystemShare: part(
      'numa-sys-cpu-pressure-eviction-numa-sys-over-total-usage-soft-threshold',
      `${NUMA_SYS_CPU}.numaSysOverTotalUsageSoftThreshold`,
      'and at least this part of it by the kernel',
      LEAST_PART,
    ),
    hardSystemShare: part(
      'numa-sys-cpu-pressure-eviction-numa-sys-over-total-usage-hard-threshold',
      `${NUMA_SYS_CPU}.numaSysOverTotalUsageHardThreshold`,
      'and at least this part of it by the kernel, for a pod to go',
      LEAST_PART,
    ),
    evictionSystemShare: part(
      'numa-sys-cpu-pressure-eviction-numa-sys-over-total-usage-eviction-threshold',
      `${NUMA_SYS_CPU}.numaSysOverTotalUsageEvictionThreshold`,
      'a pod for which the kernel uses a smaller part of its processor time stays',
    ),
    metPercentage: part(
      'numa-sys-cpu-pressure-eviction-threshold-met-percentage',
      `${NUMA_SYS_CPU}.thresholdMetPercentage`,
      'in which part of the readings the use must be above it',
      LEAST_PART,
    ),
    ringSize: {
      flag: '--numa-sys-cpu-pressure-eviction-metric-ring-size <N>',
      field: `${NUMA_SYS_CPU}.metricRingSize`,
      kind: number,
      problem: ringSize,
      description: "how many readings of the kernel's time count",
    },
    syncPeriodMs: {
      flag: '--numa-sys-cpu-pressure-eviction-sync-period <SECONDS>',
      field: `${NUMA_SYS_CPU}.syncPeriod`,
      kind: seconds,
      problem: timer(1),
      description: 'the shortest time between these readings',
    },
    gracePeriodSeconds: grace(
      'numa-sys-cpu-pressure-eviction-grace-period',
      NUMA_SYS_CPU,
      "for the kernel's time",
    ),
  },
};
