import { describe, expect, test } from '@jest/globals';
import type { CgroupResources } from '../../../../src/agent/policies/cgroups/cgroup-resources.ts';
import {
  cgroupValues,
  type CgroupVersion,
  isHugetlbLimit,
} from '../../../../src/agent/policies/cgroups/cgroup-values.ts';

const ALL: CgroupResources = {
  cpuShares: 512,
  cpuQuotaUs: 50_000,
  cpuPeriodUs: 100_000,
  memoryLimitBytes: 104_857_600n,
  pidsLimit: 100,
};
const lines = (version: CgroupVersion, resources: CgroupResources, hugetlbFiles: string[] = []) =>
  cgroupValues(version, resources, hugetlbFiles).map(
    ({ controller, file, value, optional }) => `${controller} ${file}=${value}${optional ? '?' : ''}`,
  );

describe('the files of a group', () => {
  test('of cgroup v1, the period before the quota', () => {
    expect(lines(1, ALL)).toEqual([
      'cpu cpu.shares=512',
      'cpu cpu.cfs_period_us=100000?',
      'cpu cpu.cfs_quota_us=50000?',
      'memory memory.limit_in_bytes=104857600',
      'pids pids.max=100',
    ]);
  });

  test('of cgroup v2', () => {
    expect(lines(2, ALL)).toEqual([
      'cpu cpu.weight=20',
      'cpu cpu.max=50000 100000?',
      'memory memory.max=104857600',
      'pids pids.max=100',
    ]);
  });

  test('leave out what is not limited', () => {
    expect(lines(1, { cpuShares: 2 })).toEqual(['cpu cpu.shares=2']);
    expect(lines(2, { cpuShares: 2 })).toEqual(['cpu cpu.weight=1']);
    expect(lines(2, {})).toEqual([]);
  });

  test('have -1 or max for no quota', () => {
    const resources = { cpuQuotaUs: -1, cpuPeriodUs: 100_000 };
    expect(lines(1, resources)).toContain('cpu cpu.cfs_quota_us=-1?');
    expect(lines(2, resources)).toEqual(['cpu cpu.max=max 100000?']);
  });

  test('limit every size of huge pages that the kernel has, to 0 if the pod does not request it', () => {
    const hugePageLimits = new Map([[2n ** 21n, 2n ** 22n]]);
    const files = ['hugetlb.2MB.max', 'hugetlb.2MB.rsvd.max', 'hugetlb.1GB.max', 'hugetlb.2MB.current'];
    expect(lines(2, { hugePageLimits }, files)).toEqual([
      'hugetlb hugetlb.2MB.max=4194304?',
      'hugetlb hugetlb.2MB.rsvd.max=4194304?',
      'hugetlb hugetlb.1GB.max=0?',
    ]);
    expect(lines(2, {}, files)).toEqual([]);
  });
});

test('files that limit huge pages are distinguished from files that count them', () => {
  const files = ['hugetlb.2MB.limit_in_bytes', 'hugetlb.64KB.rsvd.limit_in_bytes', 'hugetlb.1GB.max'];
  expect(files.filter(isHugetlbLimit)).toEqual(files);
  expect(
    ['hugetlb.2MB.usage_in_bytes', 'hugetlb.2MB.events', 'hugetlb.2MB.max_usage_in_bytes'].filter(
      isHugetlbLimit,
    ),
  ).toEqual([]);
});
