import { describe, expect, test } from '@jest/globals';
import type { CgroupValue } from '../../../../src/agent/policies/cgroups/cgroup-values.ts';
import { sliceProperties, systemdLimits } from '../../../../src/agent/policies/cgroups/systemd-properties.ts';

const INFINITY = 2n ** 64n - 1n;
const value = (file: string, text: string): CgroupValue => ({ controller: 'cpu', file, value: text });
const properties = (...values: CgroupValue[]) =>
  Object.fromEntries(systemdLimits(values).properties.map(([name, { value: own }]) => [name, own]));
const written = (...values: CgroupValue[]) => systemdLimits(values).values.map(({ value: text }) => text);

test('a slice is made with accounting, and wants the one above it', () => {
  expect(sliceProperties('kubepods.slice', '-.slice', 2)).toEqual([
    ['Description', { signature: 's', value: 'libcontainer container kubepods.slice' }],
    ['Wants', { signature: 'as', value: ['-.slice'] }],
    ['MemoryAccounting', { signature: 'b', value: true }],
    ['CPUAccounting', { signature: 'b', value: true }],
    ['IOAccounting', { signature: 'b', value: true }],
    ['TasksAccounting', { signature: 'b', value: true }],
    ['DefaultDependencies', { signature: 'b', value: false }],
  ]);
  expect(sliceProperties('a.slice', '-.slice', 1).map(([name]) => name)).toContain('BlockIOAccounting');
});

test('the limits of cgroup v1 and v2 have their own names', () => {
  expect(properties(value('cpu.shares', '512'), value('memory.limit_in_bytes', '9'))).toEqual({
    CPUShares: 512n,
    MemoryLimit: 9n,
  });
  expect(properties(value('cpu.weight', '39'), value('memory.max', 'max'), value('memory.min', '0'))).toEqual(
    {
      CPUWeight: 39n,
      MemoryMax: INFINITY,
      MemoryMin: 0n,
    },
  );
});

test('systemd takes no limit of zero tasks, and -1 is none', () => {
  expect(properties(value('pids.max', '0'))).toEqual({ TasksMax: 1n });
  expect(properties(value('memory.limit_in_bytes', '-1'))).toEqual({ MemoryLimit: INFINITY });
});

describe('a limit of CPU time', () => {
  test('is rounded up to a hundredth of a second in each second, in the file as well', () => {
    const v2 = value('cpu.max', '12345 100000');
    expect(properties(v2)).toEqual({ CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 130_000n });
    expect(written(v2)).toEqual(['13000 100000']);
    const v1 = [value('cpu.cfs_period_us', '20000'), value('cpu.cfs_quota_us', '10001')];
    expect(properties(...v1)).toEqual({ CPUQuotaPeriodUSec: 20_000n, CPUQuotaPerSecUSec: 510_000n });
    expect(written(...v1)).toEqual(['20000', '10200']);
  });

  test('that is a whole number of hundredths stays', () => {
    expect(properties(value('cpu.max', '50000 100000'))).toMatchObject({ CPUQuotaPerSecUSec: 500_000n });
    expect(written(value('cpu.max', '50000 100000'))).toEqual(['50000 100000']);
  });

  test('is infinite where there is none', () => {
    expect(properties(value('cpu.max', 'max 100000'))).toMatchObject({ CPUQuotaPerSecUSec: INFINITY });
    expect(properties(value('cpu.cfs_quota_us', '-1'))).toEqual({ CPUQuotaPerSecUSec: INFINITY });
    expect(written(value('cpu.max', 'max 100000'))).toEqual(['max 100000']);
  });
});

test('CPUs are bits, and files that systemd does not know are written and nothing more', () => {
  expect(properties(value('cpuset.cpus', '0-2,9'))).toEqual({ AllowedCPUs: [7, 2] });
  expect(properties(value('hugetlb.2MB.max', '0'))).toEqual({});
  expect(written(value('hugetlb.2MB.max', '0'))).toEqual(['0']);
});
