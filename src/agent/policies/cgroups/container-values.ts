/** What a runtime writes into the cgroup of a container: what CRI has it do. */
import type { LinuxContainerResources } from '../../../types/cri.ts';
import { type CgroupValue, cgroupValues, type CgroupVersion } from './cgroup-values.ts';

/** In an order in which a new group takes them. In CRI 0 means: no limit. */
export function containerCgroupValues(
  version: CgroupVersion,
  resources: LinuxContainerResources,
): readonly CgroupValue[] {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, memorySwapLimitInBytes = 0 } = resources;
  const { hugepageLimits = [], unified = {} } = resources;
  const ofCPU = { cpuShares, ...(cpuQuota !== 0 && { cpuQuotaUs: cpuQuota, cpuPeriodUs: cpuPeriod }) };
  const ofMemory = memoryLimitInBytes > 0 && { memoryLimitBytes: BigInt(memoryLimitInBytes) };
  return [
    ...cgroupValues(version, { ...ofCPU, ...ofMemory }),
    ...(version === 1 && memorySwapLimitInBytes > 0
      ? [optional('memory', 'memory.memsw.limit_in_bytes', memorySwapLimitInBytes)]
      : []),
    ...hugepageLimits.flatMap(({ pageSize, limit }) => hugePages(version, pageSize, limit)),
    ...Object.entries(version === 2 ? unified : {}).map(([file, value]) =>
      optional(file.slice(0, file.indexOf('.')) as CgroupValue['controller'], file, value),
    ),
  ];
}

/** Pages that are in use, and those that are only reserved. */
function hugePages(version: CgroupVersion, pageSize: string, limit: number): readonly CgroupValue[] {
  const file = version === 1 ? 'limit_in_bytes' : 'max';
  return ['', 'rsvd.'].map((kind) => optional('hugetlb', `hugetlb.${pageSize}.${kind}${file}`, limit));
}

function optional(controller: CgroupValue['controller'], file: string, value: number | string): CgroupValue {
  return { controller, file, value: String(value), optional: true };
}
