/** Settings of the built-in eviction plugins. Flags and fields have Katalyst's names where it has them. */
import { DEFAULT_BUILT_IN_SETTINGS } from '../policies/eviction-plugins/built-in/built-in-settings.ts';
import { thresholdTextProblem } from '../policies/eviction-plugins/built-in/threshold-text.ts';
import type { BuiltInSettings, Factors } from '../../types/built-in-thresholds.ts';
import {
  atLeast,
  between,
  bytes,
  duration,
  flagOrNot,
  type Kind,
  number,
  oneList,
  resolveSettings,
  type Setting,
  text,
  texts,
  timer,
} from './setting.ts';

const RECLAIMED = 'evictionPlugins.reclaimedResourcesEvictionConfig';
const MEMORY = 'evictionPlugins.memoryPressureEvictionConfig';
const ROOTFS = 'evictionPlugins.rootfsPressureEvictionConfig';
const NETWORK = 'evictionPlugins.networkEvictionConfig';
const CPU = 'evictionPlugins.cpuPressureEvictionConfig';
const NUMA_CPU = `${CPU}.numaCPUPressureEvictionConfig`;
const NUMA_SYS_CPU = `${CPU}.numaSysCPUPressureEvictionConfig`;

/** Katalyst's overuse plugin knows no others. */
const OVERUSE_LEVELS: readonly string[] = ['shared_cores', 'reclaimed_cores'];

const ratio: Kind<number> = {
  fromText: (given) => (/^\d+(?:\.\d+)?$/u.test(given) ? Number(given) : undefined),
  fromField: (value) => value as number,
  expects: 'a number such as 1.5',
  show: String,
};
const factors: Kind<Factors> = {
  fromText: (given) => {
    const pairs = given.split(',').map((pair) => pair.split('='));
    const isValid = pairs.every(
      ([, factor, more]) => more === undefined && ratio.fromText(factor ?? '') !== undefined,
    );
    return isValid
      ? Object.fromEntries(pairs.map(([name = '', factor]) => [name.trim(), Number(factor)]))
      : undefined;
  },
  fromField: (value) => value as Factors,
  expects: 'RESOURCE=FACTOR with commas between, such as resource.katalyst.kubewharf.io/reclaimed_millicpu=5',
  show: (value) =>
    Object.entries(value)
      .map(([name, factor]) => `${name}=${factor}`)
      .join(','),
};
/** Whole seconds, as Katalyst has them; kept in milliseconds. */
const seconds: Kind<number> = {
  fromText: (given) => (/^\d+$/u.test(given) ? Number(given) * 1000 : undefined),
  fromField: (value) => (value as number) * 1000,
  expects: 'a whole number of seconds',
  show: (value) => String(value / 1000),
  toField: (value) => value / 1000,
};
const labels = texts('=', 'LABEL=VALUE with commas between');

type Row<T> = Omit<Setting<T>, 'default'>;
type Rows = {
  readonly [Group in keyof BuiltInSettings]: {
    readonly [Name in keyof BuiltInSettings[Group]]: Row<BuiltInSettings[Group][Name]>;
  };
};

const isPositive = (value: number) => (value > 0 ? undefined : 'more than 0');
const arePositive = (value: Factors) =>
  Object.values(value).every((factor) => factor > 0) ? undefined : 'factors of more than 0';
/** Readings of a ring are kept in memory. */
const ringSize = between(1, 1000);

function grace(flag: string, of: string, what: string): Row<number> {
  return {
    flag: `--${flag} <SECONDS>`,
    field: `${of}.gracePeriod`,
    kind: number,
    problem: atLeast(-1),
    description: `how long pods have to end that go ${what}; -1: their own grace periods`,
  };
}

function enabled(flag: string, field: string, what: string): Row<boolean> {
  return { flag: `--${flag} [BOOL]`, field, kind: flagOrNot, description: `whether ${what}` };
}

function amount(flag: string, field: string, description: string): Row<string> {
  return {
    flag: `--${flag} <AMOUNT>`,
    field: `${ROOTFS}.${field}`,
    kind: text,
    problem: thresholdTextProblem,
    description: `${description}, such as 200Gi or 10%; not compared unless given`,
  };
}

function part(flag: string, field: string, description: string, least = 0): Row<number> {
  return { flag: `--${flag} <PART>`, field, kind: ratio, problem: between(least, 1), description };
}

/** With a part of 0 a threshold would always be met. */
const LEAST_PART = 0.01;

const ROWS: Rows = {
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
      description: 'for so long',
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
      description: 'for so long; three times as long, and any pod goes',
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
      description: 'readings of the load are at least so far apart',
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
      description: 'readings of it are at least so far apart',
    },
    gracePeriodSeconds: grace(
      'numa-sys-cpu-pressure-eviction-grace-period',
      NUMA_SYS_CPU,
      "for the kernel's time",
    ),
  },
};

type Table<Group extends keyof BuiltInSettings> = {
  readonly [Name in keyof BuiltInSettings[Group]]: Setting<BuiltInSettings[Group][Name]>;
};

const GROUPS = Object.keys(ROWS) as (keyof BuiltInSettings)[];

/** The rows of a group, with their defaults. */
function tableOf<Group extends keyof BuiltInSettings>(group: Group): Table<Group> {
  const defaults = DEFAULT_BUILT_IN_SETTINGS[group];
  const rows = Object.entries(ROWS[group] as unknown as Readonly<Record<string, Row<unknown>>>);
  return Object.fromEntries(
    rows.map(([name, row]) => [name, { ...row, default: defaults[name as keyof typeof defaults] }]),
  ) as unknown as Table<Group>;
}

/** All rows, with the values that they have in `settings`. */
export function builtInRows(
  settings: BuiltInSettings,
): readonly { readonly row: Setting; readonly value: unknown }[] {
  return GROUPS.flatMap((group) => {
    const values: Readonly<Record<string, unknown>> = { ...settings[group] };
    return Object.entries<Setting>(tableOf(group) as never).map(([name, row]) => ({
      row,
      value: values[name],
    }));
  });
}

export const ALL_BUILT_IN_SETTINGS: readonly Setting[] = builtInRows(DEFAULT_BUILT_IN_SETTINGS).map(
  ({ row }) => row,
);

/** `file` has the object `evictionPlugins`. Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveBuiltInSettings(
  flags: Readonly<Record<string, unknown>>,
  file: Readonly<Record<string, unknown>>,
  fileName: string,
): BuiltInSettings {
  return Object.fromEntries(
    GROUPS.map((group) => [group, resolveSettings(tableOf(group), flags, file, fileName)]),
  ) as unknown as BuiltInSettings;
}
