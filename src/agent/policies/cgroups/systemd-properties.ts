/** The properties of systemd's units that stand for the values of cgroup files. */
import type { CgroupValue } from './cgroup-values.ts';

/** A name with a variant of D-Bus. */
export type UnitProperty = readonly [
  name: string,
  value: {
    readonly signature: string;
    readonly value: string | bigint | boolean | readonly string[] | readonly number[];
  },
];

export interface SystemdLimits {
  readonly properties: readonly UnitProperty[];
  /** What is to be written into the files: as given, with a quota of CPU time rounded as systemd rounds it. */
  readonly values: readonly CgroupValue[];
}

/** UINT64_MAX: no limit. */
const INFINITY = 2n ** 64n - 1n;
const US_PER_S = 1_000_000n;
const DEFAULT_PERIOD_US = 100_000n;
/** systemd keeps CPU quotas in whole percents of a second. */
const QUOTA_STEP_US = 10_000n;

/** Properties whose value is that of a file. */
const NUMBERS: Readonly<Record<string, string>> = {
  'cpu.shares': 'CPUShares',
  'cpu.weight': 'CPUWeight',
  'memory.limit_in_bytes': 'MemoryLimit',
  'memory.max': 'MemoryMax',
  'memory.high': 'MemoryHigh',
  'memory.low': 'MemoryLow',
  'memory.min': 'MemoryMin',
  'memory.swap.max': 'MemorySwapMax',
  'pids.max': 'TasksMax',
};
const SETS: Readonly<Record<string, string>> = {
  'cpuset.cpus': 'AllowedCPUs',
  'cpuset.mems': 'AllowedMemoryNodes',
};

/** With these a slice is made: all that it uses is counted, and the slice above it is there. */
export function sliceProperties(unit: string, parent: string, version: 1 | 2): readonly UnitProperty[] {
  const accounting = ['Memory', 'CPU', version === 1 ? 'BlockIO' : 'IO', 'Tasks'];
  return [
    ['Description', { signature: 's', value: `libcontainer container ${unit}` }],
    ['Wants', { signature: 'as', value: [parent] }],
    ...accounting.map((what): UnitProperty => [`${what}Accounting`, { signature: 'b', value: true }]),
    ['DefaultDependencies', { signature: 'b', value: false }],
  ];
}

/** Files without a property of systemd are only written. */
export function systemdLimits(values: readonly CgroupValue[]): SystemdLimits {
  const quota = quotaOf(values);
  const properties = values.flatMap(({ file, value }): UnitProperty[] => {
    const name = NUMBERS[file];
    if (name !== undefined) return [[name, { signature: 't', value: amount(value, name) }]];
    const set = SETS[file];
    return set === undefined ? [] : [[set, { signature: 'ay', value: bitsOf(value) }]];
  });
  return {
    properties: [...properties, ...(quota?.properties ?? [])],
    values: values.map((value) => (value.file === quota?.file ? { ...value, value: quota.value } : value)),
  };
}

/** -1 and `max` are no limit. systemd takes no limit of zero tasks. */
function amount(value: string, property: string): bigint {
  if (value === 'max' || value.startsWith('-')) return INFINITY;
  return value === '0' && property === 'TasksMax' ? 1n : BigInt(value);
}

/** cgroup v1 has a file for the quota and one for its period, v2 has one for both. */
function quotaOf(
  values: readonly CgroupValue[],
): { file: string; value: string; properties: readonly UnitProperty[] } | undefined {
  const valueOf = (name: string) => values.find(({ file }) => file === name)?.value;
  const both = valueOf('cpu.max');
  const file = both === undefined ? 'cpu.cfs_quota_us' : 'cpu.max';
  const [quota, period] = both?.split(' ') ?? [valueOf('cpu.cfs_quota_us'), valueOf('cpu.cfs_period_us')];
  if (quota === undefined) return undefined;
  const periodUs = period === undefined ? DEFAULT_PERIOD_US : BigInt(period);
  const periodProperty: UnitProperty = ['CPUQuotaPeriodUSec', { signature: 't', value: periodUs }];
  const withPeriod = period === undefined ? [] : [periodProperty];
  if (quota === 'max' || quota.startsWith('-')) {
    return { file, value: both ?? quota, properties: [...withPeriod, perSecond(INFINITY)] };
  }
  const exact = (BigInt(quota) * US_PER_S) / periodUs;
  const rounded = ((exact + QUOTA_STEP_US - 1n) / QUOTA_STEP_US) * QUOTA_STEP_US;
  const quotaUs = exact === rounded ? BigInt(quota) : (rounded * periodUs) / US_PER_S;
  const value = both === undefined || period === undefined ? String(quotaUs) : `${quotaUs} ${period}`;
  return { file, value, properties: [...withPeriod, perSecond(rounded)] };
}

function perSecond(value: bigint): UnitProperty {
  return ['CPUQuotaPerSecUSec', { signature: 't', value }];
}

/** A list such as `0-2,8` as bits, the lowest number in the first byte. */
function bitsOf(list: string): readonly number[] {
  const bytes: number[] = [];
  for (const range of list.split(',').filter(Boolean)) {
    const [first = 0, last = first] = range.split('-').map(Number);
    for (let number = first; number <= last; number++) {
      const index = number >> 3;
      while (bytes.length <= index) bytes.push(0);
      bytes[index] = (bytes[index] ?? 0) | (1 << (number & 7));
    }
  }
  return bytes;
}
