/** The files of a cgroup and the values that are written into them, for both versions. */
import { type CgroupResources, sharesToWeight } from './cgroup-resources.ts';

export type CgroupVersion = 1 | 2;

export interface CgroupValue {
  readonly controller: 'cpu' | 'cpuset' | 'memory' | 'pids' | 'hugetlb';
  readonly file: string;
  readonly value: string;
  /** Some kernels are built without this file. Pods then run without this limit. */
  readonly optional?: true;
}

/** `hugetlbFiles`: the names of this kernel's files for limits on huge pages. */
export function cgroupValues(
  version: CgroupVersion,
  resources: CgroupResources,
  hugetlbFiles: readonly string[] = [],
): readonly CgroupValue[] {
  const values = version === 1 ? valuesV1(resources) : valuesV2(resources);
  return [...values, ...hugePageValues(resources, hugetlbFiles)];
}

/** Whether a file limits huge pages: `hugetlb.2MB.max`, `hugetlb.1GB.rsvd.limit_in_bytes`, … */
export function isHugetlbLimit(file: string): boolean {
  return HUGETLB_LIMIT.test(file);
}

function valuesV1(resources: CgroupResources): CgroupValue[] {
  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes, pidsLimit } = resources;
  return [
    value('cpu', 'cpu.shares', cpuShares),
    // The period first: the kernel checks a quota against the period in force.
    ...optional(value('cpu', 'cpu.cfs_period_us', cpuPeriodUs)),
    ...optional(value('cpu', 'cpu.cfs_quota_us', cpuQuotaUs)),
    value('memory', 'memory.limit_in_bytes', memoryLimitBytes),
    value('pids', 'pids.max', pidsLimit),
  ].flat();
}

function valuesV2(resources: CgroupResources): CgroupValue[] {
  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes, pidsLimit } = resources;
  const { memoryMinBytes, memoryLowBytes, cpus } = resources;
  const quota = cpuQuotaUs !== undefined && cpuQuotaUs < 0 ? 'max' : cpuQuotaUs;
  const cpuMax = quota === undefined ? undefined : `${quota} ${cpuPeriodUs ?? ''}`.trimEnd();
  return [
    value('cpu', 'cpu.weight', cpuShares === undefined ? undefined : sharesToWeight(cpuShares)),
    ...optional(value('cpu', 'cpu.max', cpuMax)),
    value('memory', 'memory.max', memoryLimitBytes),
    value('memory', 'memory.min', memoryMinBytes),
    value('memory', 'memory.low', memoryLowBytes),
    value('pids', 'pids.max', pidsLimit),
    value('cpuset', 'cpuset.cpus', cpus),
  ].flat();
}

function value(
  controller: CgroupValue['controller'],
  file: string,
  content: number | bigint | string | undefined,
): CgroupValue[] {
  return content === undefined ? [] : [{ controller, file, value: String(content) }];
}

function optional(values: readonly CgroupValue[]): CgroupValue[] {
  return values.map((entry) => ({ ...entry, optional: true }));
}

const HUGETLB_LIMIT = /^hugetlb\.(\d+)(KB|MB|GB)\.(?:rsvd\.)?(?:max|limit_in_bytes)$/;
const PAGE_UNIT_SHIFTS: Readonly<Record<string, bigint>> = { KB: 10n, MB: 20n, GB: 30n };

/** As high as the kubelet sets it. */
const UNBOUNDED_BYTES = 1n << 62n;

/** A limit for every page size that the kernel has: pages of a size that the pod does not request must not be used. */
function hugePageValues({ hugePageLimits }: CgroupResources, files: readonly string[]): CgroupValue[] {
  if (!hugePageLimits) return [];
  return files.flatMap((file) => {
    const [, count, unit] = HUGETLB_LIMIT.exec(file) ?? [];
    if (count === undefined || unit === undefined) return [];
    const pageSize = BigInt(count) << (PAGE_UNIT_SHIFTS[unit] ?? 0n);
    const limit = hugePageLimits === 'unbounded' ? UNBOUNDED_BYTES : (hugePageLimits.get(pageSize) ?? 0n);
    return optional(value('hugetlb', file, limit));
  });
}
