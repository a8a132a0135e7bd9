import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { totalmem } from 'node:os';
import { NodeMemoryReader } from '../../../../src/agent/runtime/stats/node-memory-reader.ts';
import { numaStatV1, numaStatV2, twoNumaNodes, zoneText } from '../../../support/numa-machine.ts';
import { MIB, StatsBed } from './stats-bed.ts';

const PAGE = 4096;

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
});
afterEach(() => bed.cleanUp());

describe('the machine', () => {
  beforeEach(() => bed.cgroups.mountV1('memory'));

  test('has the figures of /proc', () => {
    bed.meminfo({ MemTotal: 1000 * MIB, MemFree: 10 * MIB });
    bed.write('proc/sys/vm/watermark_scale_factor', '10\n');
    bed.figures('proc/vmstat', { pgsteal_kswapd: 4711, pgsteal_direct: 3 });
    const psi = (kind: string) => `${kind} avg10=1.50 avg60=2.00 avg300=0.10 total=12345\n`;
    bed.write('proc/pressure/memory', psi('some') + psi('full'));
    const read = { avg10: 1.5, avg60: 2, avg300: 0.1, total: 12_345 };
    expect(bed.open().nodeMemory.machine()).toEqual({
      totalBytes: 1000 * MIB,
      freeBytes: 10 * MIB,
      watermarkScaleFactor: 10,
      kswapdPages: 4711,
      psi: { some: read, full: read },
    });
  });

  test('has fewer of them if the kernel has less, and none without /proc/meminfo', () => {
    bed.meminfo({ MemTotal: MIB, MemFree: 0 });
    expect(bed.open().nodeMemory.machine()).toEqual({ totalBytes: MIB, freeBytes: 0 });
    bed.write('proc/meminfo', '');
    expect(bed.open().nodeMemory.machine()).toBeUndefined();
  });
});

describe('NUMA nodes', () => {
  beforeEach(() => bed.cgroups.mountV1('memory'));
  const nodes = () => bed.open().nodeMemory.numaNodes();

  test('have the watermarks of their main zone, and the memory of all', () => {
    bed.write('proc/zoneinfo', twoNumaNodes([{ free: 1000 }, { free: 2000, low: 60_000 }]));
    expect(nodes()).toEqual([
      {
        id: 0,
        totalBytes: (33_554_432 + 772_915 + 3840) * PAGE,
        freeBytes: 1000 * PAGE,
        minBytes: 25_600 * PAGE,
        lowBytes: 51_200 * PAGE,
        inactiveFileBytes: 5_000_000 * PAGE,
      },
      {
        id: 1,
        totalBytes: 33_554_432 * PAGE,
        freeBytes: 2000 * PAGE,
        minBytes: 25_600 * PAGE,
        lowBytes: 60_000 * PAGE,
        inactiveFileBytes: 6_000_000 * PAGE,
      },
    ]);
  });

  test('of a small machine have no zone Normal: the largest counts', () => {
    const zones = [
      zoneText(0, 'DMA', { free: 3, managed: 3840 }, 5),
      zoneText(0, 'DMA32', { free: 700, min: 1, low: 2, managed: 500_000 }),
      zoneText(0, 'Normal', { min: 32, low: 32 }),
    ];
    bed.write('proc/zoneinfo', zones.join(''));
    expect(nodes()).toMatchObject([{ id: 0, freeBytes: 700 * PAGE, minBytes: PAGE, lowBytes: 2 * PAGE }]);
  });

  test('without memory do not count', () => {
    bed.write('proc/zoneinfo', zoneText(0, 'Normal', { managed: 9 }, 1) + zoneText(1, 'Normal', {}, 1));
    expect(nodes().map(({ id }) => id)).toEqual([0]);
  });

  test('are not known without /proc/zoneinfo', () => {
    expect(nodes()).toEqual([]);
  });

  test('are measured in pages of the size that this machine has', () => {
    bed.write(
      'proc/self/smaps',
      '0-1 r-xp 0 0:0 0 node\nSize:   64 kB\nKernelPageSize:       64 kB\nRss: 4 kB\n',
    );
    bed.write('proc/zoneinfo', zoneText(0, 'Normal', { free: 2, managed: 9 }, 1));
    expect(nodes()).toMatchObject([{ totalBytes: 9 * 65_536, freeBytes: 2 * 65_536 }]);
  });
});

describe('the memory of pods on NUMA nodes', () => {
  test('is counted in pages by cgroup v1, with the groups below', () => {
    bed.cgroups.mountV1('memory');
    bed.write('memory/kubepods/besteffort/poda/memory.numa_stat', numaStatV1([1, 2], [100, 200]));
    bed.write('memory/kubepods/podb/memory.numa_stat', numaStatV1([1, 2], [0, 7]));
    expect(bed.open().nodeMemory.podsByNumaNode()).toEqual(
      new Map([
        [
          'b',
          new Map([
            [0, 0],
            [1, 7 * PAGE],
          ]),
        ],
        [
          'a',
          new Map([
            [0, 100 * PAGE],
            [1, 200 * PAGE],
          ]),
        ],
      ]),
    );
  });

  test('is counted in bytes by cgroup v2: memory of programs, and of files', () => {
    bed.cgroups.mountV2('memory');
    bed.write('v2/kubepods/burstable/poda/memory.numa_stat', numaStatV2([10, 20], [1, 2]));
    expect(bed.open().nodeMemory.podsByNumaNode()).toEqual(
      new Map([
        [
          'a',
          new Map([
            [0, 11],
            [1, 22],
          ]),
        ],
      ]),
    );
  });

  test('is not known where groups do not count memory, the kernel has no figures, or pods have no groups', () => {
    bed.cgroups.mountV1('pids');
    bed.write('pids/kubepods/poda/tasks', '');
    expect(bed.open().nodeMemory.podsByNumaNode()).toEqual(new Map());
    bed.cgroups.mountV1('memory');
    bed.write('memory/kubepods/poda/tasks', '');
    expect(bed.open().nodeMemory.podsByNumaNode()).toEqual(new Map());
    expect(bed.open({ cgroupRoot: undefined }).nodeMemory.podsByNumaNode()).toEqual(new Map());
  });
});

test('the figures of the machine that runs this test make sense', () => {
  const reader = new NodeMemoryReader({ tree: undefined, podGroups: undefined, root: '/' });
  const machine = reader.machine();
  expect(machine?.totalBytes).toBe(totalmem());
  expect(machine?.freeBytes).toBeGreaterThan(0);
  expect(machine?.freeBytes).toBeLessThan(totalmem());
  expect(machine?.watermarkScaleFactor).toBeGreaterThanOrEqual(1);
  expect(machine?.kswapdPages).toBeGreaterThanOrEqual(0);
  const nodes = reader.numaNodes();
  const known = readdirSync('/sys/devices/system/node').filter((name) => /^node\d+$/.test(name));
  expect(nodes.map(({ id }) => `node${id}`).sort()).toEqual(known.sort());
  for (const { minBytes, lowBytes, totalBytes } of nodes) {
    expect(minBytes).toBeGreaterThan(0);
    expect(lowBytes).toBeGreaterThanOrEqual(minBytes);
    expect(lowBytes).toBeLessThan(totalBytes);
  }
});
