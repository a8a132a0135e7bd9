/** Settings of the built-in eviction plugins for reclaimed resources, memory, disks and networks. */
import { thresholdTextProblem } from '../policies/eviction-plugins/built-in/threshold-text.ts';
import {
  ratio,
  factors,
  seconds,
  labels,
  isPositive,
  arePositive,
  grace,
  enabled,
  part,
  type Row,
  type Rows,
} from './built-in-rows.ts';
import { atLeast, between, bytes, duration, number, oneList, text, timer } from './setting.ts';

const RECLAIMED = 'evictionPlugins.reclaimedResourcesEvictionConfig';
const MEMORY = 'evictionPlugins.memoryPressureEvictionConfig';
const ROOTFS = 'evictionPlugins.rootfsPressureEvictionConfig';
const NETWORK = 'evictionPlugins.networkEvictionConfig';

/** Katalyst's overuse plugin knows no others. */
const OVERUSE_LEVELS: readonly string[] = ['shared_cores', 'reclaimed_cores'];

function amount(flag: string, field: string, description: string): Row<string> {
  return {
    flag: `--${flag} <AMOUNT>`,
    field: `${ROOTFS}.${field}`,
    kind: text,
    problem: thresholdTextProblem,
    description: `${description}, such as 200Gi or 10%; not compared unless given`,
  };
}

export const RESOURCE_ROWS: Pick<
  Rows,
  | 'reclaimedResources'
  | 'numaMemory'
  | 'systemMemory'
  | 'rssOveruse'
  | 'memoryGrace'
  | 'rootfsPressure'
  | 'rootfsOveruse'
  | 'rootfsGrace'
  | 'nicHealth'
> = {
  reclaimedResources: {
    evictionThreshold: {
      flag: '--eviction-reclaimed-resources-threshold <LIST>',
      field: `${RECLAIMED}.evictionThreshold`,
      kind: factors,
      problem: arePositive,
      description: 'a pod goes if reclaimed pods request so many times what the node can give',
    },
    softEvictionThreshold: {
      field: `${RECLAIMED}.softEvictionThreshold`,
      kind: factors,
      problem: arePositive,
      description: 'the same; pods that ask for a notice get one',
    },
    toleranceSeconds: {
      flag: '--eviction-reclaimed-resources-threshold-met-tolerance-duration <SECONDS>',
      field: `${RECLAIMED}.thresholdMetToleranceDuration`,
      kind: number,
      problem: atLeast(0),
      description: 'how long reclaimed pods must request too much before one goes',
    },
    gracePeriodSeconds: grace(
      'eviction-reclaimed-resources-grace-period',
      RECLAIMED,
      'for reclaimed resources',
    ),
    skippedAtZero: {
      flag: '--eviction-skip-zero-quantity-resource-name <LIST>',
      field: `${RECLAIMED}.skipZeroQuantityResourceNames`,
      kind: oneList,
      description: 'no pod goes for one of these resources while the node can give none of it',
    },
  },
  numaMemory: {
    isEnabled: enabled(
      'eviction-enable-numa-level',
      `${MEMORY}.enableNumaLevelEviction`,
      'pods go where one NUMA node is short of memory',
    ),
    smallestShare: part(
      'eviction-numa-victim-minimum-utilization-threshold',
      `${MEMORY}.numaVictimMinimumUtilizationThreshold`,
      "a pod with a smaller part of a NUMA node's memory stays",
    ),
    timesReclaimed: {
      flag: '--eviction-numa-free-below-watermark-times-reclaimed-threshold <N>',
      field: `${MEMORY}.numaFreeBelowWatermarkTimesReclaimedThreshold`,
      kind: number,
      problem: atLeast(0),
      description: 'reclaimed pods go if a NUMA node is below its watermark more often in a row',
    },
    timesAny: {
      flag: '--eviction-numa-free-below-watermark-times-threshold <N>',
      field: `${MEMORY}.numaFreeBelowWatermarkTimesThreshold`,
      kind: number,
      problem: atLeast(1),
      description: 'any pod goes if a NUMA node is below its watermark so often in a row',
    },
    fastTimes: {
      flag: '--eviction-numa-free-constrained-fast-eviction-wait-cycle <N>',
      field: `${MEMORY}.numaFreeConstraintFastEvictionWaitCycle`,
      kind: number,
      problem: atLeast(0),
      description: 'below the lowest watermark any pod goes after so many more passes',
    },
  },
  systemMemory: {
    isEnabled: enabled(
      'eviction-enable-system-level',
      `${MEMORY}.enableSystemLevelEviction`,
      'pods go where the whole machine is short of memory',
    ),
    freeMinimumBytes: {
      flag: '--eviction-system-free-memory-threshold-minimum <SIZE>',
      field: `${MEMORY}.systemFreeMemoryThresholdMinimum`,
      kind: bytes,
      problem: atLeast(0),
      description: 'reclaimed pods go if less memory is free than this, or than the watermarks are apart',
    },
    kswapdPagesPerSecond: {
      flag: '--eviction-system-kswapd-rate-threshold <N>',
      field: `${MEMORY}.systemKswapdRateThreshold`,
      kind: number,
      problem: atLeast(1),
      description: 'any pod goes if kswapd takes back so many pages a second',
    },
    kswapdDurationMs: {
      flag: '--eviction-system-kswapd-rate-exceed-duration-threshold <SECONDS>',
      field: `${MEMORY}.systemKswapdRateExceedDurationThreshold`,
      kind: seconds,
      problem: atLeast(0),
      description: 'how long kswapd must do so',
    },
    somePercent: {
      flag: '--eviction-system-pressure-some-threshold <PERCENT>',
      field: `${MEMORY}.memPressureSomeThreshold`,
      kind: number,
      problem: between(0, 100),
      description: 'pods go if some task waited for memory for so much of the last 10 s',
    },
    fullPercent: {
      flag: '--eviction-system-pressure-full-threshold <PERCENT>',
      field: `${MEMORY}.memPressureFullThreshold`,
      kind: number,
      problem: between(0, 100),
      description: 'and all tasks did for so much of it',
    },
    waitDurationMs: {
      flag: '--eviction-system-pressure-duration <SECONDS>',
      field: `${MEMORY}.memPressureDuration`,
      kind: seconds,
      problem: atLeast(0),
      description: 'how long that must last; after three times as long any pod goes',
    },
    coolDownMs: {
      flag: '--eviction-system-pressure-cool-down-period <SECONDS>',
      field: `${MEMORY}.systemPressureCoolDownPeriod`,
      kind: seconds,
      problem: atLeast(0),
      description: 'after a pod has been named for the memory of the machine, none is for so long',
    },
  },
  rssOveruse: {
    allPods: enabled(
      'eviction-enable-rss-overuse',
      `${MEMORY}.enableRSSOveruseEviction`,
      'resident memory is compared with requests also of pods that name no factor',
    ),
    factor: {
      flag: '--eviction-rss-overuse-rate-threshold <FACTOR>',
      field: `${MEMORY}.rssOveruseRateThreshold`,
      kind: ratio,
      problem: isPositive,
      description: 'how many times its request a pod may have of resident memory, unless it says so itself',
    },
    labels: {
      flag: '--eviction-rss-overuse-filter <LABELS>',
      field: `${MEMORY}.rssOveruseEvictionFilter`,
      kind: labels,
      description: 'only pods with these labels are compared, such as app=web',
    },
  },
  memoryGrace: {
    reclaimedGracePeriodSeconds: {
      ...grace('reclaimed-eviction-memory-grace-period', MEMORY, 'for memory, where only reclaimed ones may'),
      field: `${MEMORY}.reclaimedGracePeriod`,
    },
    gracePeriodSeconds: grace('eviction-memory-grace-period', MEMORY, 'for memory, where any may'),
  },
  rootfsPressure: {
    isEnabled: enabled(
      'eviction-rootfs-enable',
      `${ROOTFS}.enableRootfsPressureEviction`,
      'pods go where the file system of images and writable layers is short of space',
    ),
    minimumFree: amount(
      'eviction-rootfs-minimum-image-fs-free',
      'minimumImageFsFreeThreshold',
      'a pod goes if less space is free',
    ),
    minimumInodesFree: amount(
      'eviction-rootfs-minimum-image-fs-inodes-free',
      'minimumImageFsInodesFreeThreshold',
      'a pod goes if fewer inodes are free',
    ),
    podMinimumUsed: amount(
      'eviction-rootfs-pod-minimum-used',
      'podMinimumUsedThreshold',
      'a pod that uses less space stays',
    ),
    podMinimumInodesUsed: amount(
      'eviction-rootfs-pod-minimum-inodes-used',
      'podMinimumInodesUsedThreshold',
      'a pod that uses fewer inodes stays',
    ),
    reclaimedPriorityUsed: amount(
      'eviction-rootfs-reclaimed-qos-pod-used-priority',
      'reclaimedQoSPodUsedPriorityThreshold',
      'a reclaimed pod that uses more space goes first',
    ),
    reclaimedPriorityInodesUsed: amount(
      'eviction-rootfs-reclaimed-qos-pod-inodes-used-priority',
      'reclaimedQoSPodInodesUsedPriorityThreshold',
      'a reclaimed pod that uses more inodes goes first',
    ),
    minimumCapacityBytes: {
      flag: '--eviction-rootfs-minimum-image-fs-disk-capacity <SIZE>',
      field: `${ROOTFS}.minimumImageFsDiskCapacityThreshold`,
      kind: bytes,
      problem: atLeast(0),
      description: 'no pod goes for the space of a smaller file system',
    },
  },
  rootfsOveruse: {
    isEnabled: enabled(
      'eviction-rootfs-overuse-enable',
      `${ROOTFS}.enableRootfsOveruseEviction`,
      'a pod that writes too much is a candidate',
    ),
    qosLevels: {
      flag: '--eviction-rootfs-overuse-supported-qos-levels <LIST>',
      field: `${ROOTFS}.rootfsOveruseEvictionSupportedQoSLevels`,
      kind: oneList,
      problem: (levels) =>
        levels.every((level) => OVERUSE_LEVELS.includes(level))
          ? undefined
          : `of ${OVERUSE_LEVELS.join(', ')}`,
      description: 'pods of which QoS levels are compared: shared_cores, reclaimed_cores',
    },
    sharedThreshold: amount(
      'eviction-rootfs-overuse-shared-qos-threshold',
      'sharedQoSRootfsOveruseThreshold',
      'how much a pod of shared_cores may write, at least 20Gi or 10%',
    ),
    reclaimedThreshold: amount(
      'eviction-rootfs-overuse-reclaimed-qos-threshold',
      'reclaimedQoSRootfsOveruseThreshold',
      'how much a pod of reclaimed_cores may write, at least 20Gi or 10%',
    ),
    sharedNamespaces: {
      field: `${ROOTFS}.sharedQoSNamespaceFilter`,
      kind: oneList,
      description: 'only pods of shared_cores in these namespaces are compared',
    },
    count: {
      field: `${ROOTFS}.rootfsOveruseEvictionCount`,
      kind: number,
      problem: atLeast(1),
      description: 'how many pods are named at once',
    },
  },
  rootfsGrace: {
    gracePeriodSeconds: grace('eviction-rootfs-grace-period', ROOTFS, 'for what they have written'),
  },
  nicHealth: {
    isEnabled: enabled(
      'eviction-network-nic-health-enable',
      `${NETWORK}.enableNICNetworkEviction`,
      'a pod that names a network interface without link is a candidate',
    ),
    toleranceMs: {
      flag: '--eviction-network-nic-unhealthy-tolerance-duration <DURATION>',
      field: `${NETWORK}.nicUnhealthyToleranceDuration`,
      kind: duration,
      problem: timer(0),
      description: 'for how long an interface must be without link',
    },
    gracePeriodSeconds: grace('eviction-network-grace-period', NETWORK, 'for their network interface'),
  },
};
