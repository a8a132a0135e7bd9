import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CgroupTree } from '../../../../src/agent/runtime/cgroups/cgroup-tree.ts';
import {
  groupGauge,
  type MemoryCrossing,
  type MemoryThreshold,
} from '../../../../src/agent/runtime/stats/memory-watch.ts';
import type { StatsProvider } from '../../../../src/agent/runtime/stats/stats-provider.ts';
import { MIB, StatsBed } from './stats-bed.ts';

describe('memory watch', () => {
  const HARD: MemoryThreshold = { signal: 'memory.available', thresholdBytes: 100 * MIB };
  const SOFT: MemoryThreshold = { signal: 'memory.available', thresholdBytes: 200 * MIB };
  const OF_PODS: MemoryThreshold = { signal: 'allocatableMemory.available', thresholdBytes: 100 * MIB };

  let bed: StatsBed;
  let provider: StatsProvider;
  let told: [signal: string, thresholdMib: number, availableMib: number, isBelow: boolean][];

  beforeEach(() => {
    bed = new StatsBed();
    bed.cgroups.mountV1('memory');
    bed.meminfo({ MemTotal: 1000 * MIB });
    leave(500 * MIB);
    leaveToPods(500 * MIB);
    provider = bed.open();
    told = [];
  });
  afterEach(() => bed.cleanUp());

  function leave(bytes: number): void {
    bed.write('memory/memory.usage_in_bytes', `${1000 * MIB - bytes}\n`);
    bed.figures('memory/memory.stat', { total_inactive_file: 0 });
  }

  function leaveToPods(bytes: number): void {
    bed.write('memory/kubepods/memory.limit_in_bytes', `${800 * MIB}\n`);
    bed.write('memory/kubepods/memory.usage_in_bytes', `${800 * MIB - bytes}\n`);
    bed.figures('memory/kubepods/memory.stat', { total_inactive_file: 0 });
  }

  const note = ({ signal, thresholdBytes, availableBytes, isBelow }: MemoryCrossing) =>
    void told.push([signal, thresholdBytes / MIB, availableBytes / MIB, isBelow]);
  const watch = (...thresholds: MemoryThreshold[]) => provider.watchMemory(thresholds, note);

  test('a crossed threshold is reported within 250 ms, once', async () => {
    watch(HARD);
    await bed.clock.advance(10_000);
    expect(told).toEqual([]);
    leave(99 * MIB);
    await bed.clock.advance(250);
    expect(told).toEqual([['memory.available', 100, 99, true]]);
    leave(50 * MIB);
    await bed.clock.advance(10_000);
    expect(told).toHaveLength(1);
  });

  test('the end of the shortage is reported too, and so is the next crossing', async () => {
    watch(HARD);
    for (const left of [99, 100, 99]) {
      leave(left * MIB);
      await bed.clock.advance(250);
    }
    expect(told.map(([, , left, isBelow]) => [left, isBelow])).toEqual([
      [99, true],
      [100, false],
      [99, true],
    ]);
  });

  test('a threshold that is crossed when the watch begins is reported at once', () => {
    leave(150 * MIB);
    watch(HARD, SOFT);
    expect(told).toEqual([['memory.available', 200, 150, true]]);
  });

  test('each signal has its own available memory, and each threshold is reported separately', async () => {
    watch(HARD, SOFT, OF_PODS);
    leave(150 * MIB);
    await bed.clock.advance(250);
    leaveToPods(10 * MIB);
    await bed.clock.advance(250);
    leave(10 * MIB);
    await bed.clock.advance(250);
    expect(told.map(([signal, threshold]) => [signal, threshold])).toEqual([
      ['memory.available', 200],
      ['allocatableMemory.available', 100],
      ['memory.available', 100],
    ]);
  });

  test('memory is read more often when it is nearer to the threshold or falls faster', async () => {
    watch(HARD);
    await bed.clock.advance(10_000);
    expect(bed.clock.nextInMs).toBeLessThanOrEqual(125);
    const periods: (number | undefined)[] = [];
    for (const left of [400, 300, 200, 150, 120]) {
      leave(left * MIB);
      await bed.clock.advance(bed.clock.nextInMs ?? 0);
      periods.push(bed.clock.nextInMs);
    }
    expect(periods).toEqual([...periods].sort((a = 0, b = 0) => b - a));
    expect(periods.at(-1)).toBe(25);
  });

  test('if memory cannot be read, nothing is reported; the watch continues when it can be read again', async () => {
    rmSync(bed.cgroups.path('memory/kubepods'), { recursive: true });
    watch(OF_PODS);
    await bed.clock.advance(5000);
    leaveToPods(50 * MIB);
    await bed.clock.advance(1000);
    expect(told).toEqual([['allocatableMemory.available', 100, 50, true]]);
  });

  test('a stopped watch reports nothing and leaves no timer', async () => {
    const stopped = watch(HARD);
    stopped.stop();
    leave(10 * MIB);
    await bed.clock.advance(1000);
    expect([told, bed.clock.armed]).toEqual([[], 0]);
  });

  test('a watch that is stopped by its own callback reports nothing more', async () => {
    const seen: number[] = [];
    const stopping = provider.watchMemory([SOFT, HARD], ({ thresholdBytes }) => {
      seen.push(thresholdBytes);
      stopping.stop();
    });
    leave(10 * MIB);
    await bed.clock.advance(1000);
    expect([seen, bed.clock.armed]).toEqual([[SOFT.thresholdBytes], 0]);
  });

  test('closing the provider ends its watches', async () => {
    watch(HARD);
    await provider.close();
    expect(bed.clock.armed).toBe(0);
  });
});

describe('memory gauge', () => {
  let bed: StatsBed;
  beforeEach(() => {
    bed = new StatsBed();
  });
  afterEach(() => bed.cleanUp());

  /** 700 of 1000 MiB are used; 300 of them are page cache. */
  function pods(): void {
    bed.write('memory/kubepods/memory.limit_in_bytes', `${1000 * MIB}\n`);
    bed.write('memory/kubepods/memory.usage_in_bytes', `${700 * MIB}\n`);
    bed.figures('memory/kubepods/memory.stat', { total_inactive_file: 300 * MIB });
  }

  test('memory.stat is read only if the usage alone does not show that enough memory is available', () => {
    bed.cgroups.mountV1('memory');
    pods();
    const tree = new CgroupTree(bed.cgroups.mountinfoFile, [], bed.log.logger);
    const gauge = groupGauge(tree, '/kubepods');
    expect(gauge?.read(299 * MIB)).toEqual({ availableBytes: 300 * MIB, capacityBytes: 1000 * MIB });
    expect(gauge?.read(300 * MIB)).toEqual({ availableBytes: 600 * MIB, capacityBytes: 1000 * MIB });
    expect(gauge?.read()).toEqual({ availableBytes: 600 * MIB, capacityBytes: 1000 * MIB });
    gauge?.close();
  });

  /** `/proc/meminfo` of the machine: 400 MiB are in use, of which the kernel can reclaim 100. */
  function machine(): void {
    bed.meminfo({
      MemTotal: 1000 * MIB,
      AnonPages: 150 * MIB,
      Cached: 200 * MIB,
      Buffers: 40 * MIB,
      SwapCached: 10 * MIB,
      'Inactive(file)': 100 * MIB,
    });
  }
  const LEFT = { availableBytes: 700 * MIB, capacityBytes: 1000 * MIB };

  test('on cgroup v1, the available memory comes from /proc/meminfo if the root cgroup is that of the machine', async () => {
    bed.cgroups.mountV1('memory');
    machine();
    bed.write('memory/release_agent', '');
    bed.write('memory/memory.usage_in_bytes', `${900 * MIB}\n`);
    bed.figures('memory/memory.stat', { total_inactive_file: 0, total_pgfault: 7 });
    expect(bed.open().memoryAvailable('memory.available')).toEqual(LEFT);
    const { node } = await bed.summary({ onlyNode: true });
    expect(node.memory).toMatchObject({ workingSetBytes: 300 * MIB, availableBytes: 700 * MIB });
    // /proc/meminfo has no page faults.
    expect((await bed.summary()).node.memory).toMatchObject({ pageFaults: 7 });
  });

  test('on cgroup v1, it comes from the root cgroup if that is a part of the tree of the machine', () => {
    bed.cgroups.mountV1('memory');
    machine();
    bed.write('memory/memory.usage_in_bytes', `${900 * MIB}\n`);
    bed.figures('memory/memory.stat', { total_inactive_file: 0 });
    expect(bed.open().memoryAvailable('memory.available')?.availableBytes).toBe(100 * MIB);
  });

  test('on cgroup v2, it comes from the root cgroup if that has memory.current, else from /proc/meminfo', () => {
    bed.cgroups.mountV2('memory');
    machine();
    bed.figures('v2/memory.stat', { anon: 800 * MIB, file: 100 * MIB, inactive_file: 0 });
    expect(bed.open().memoryAvailable('memory.available')).toEqual(LEFT);
    bed.write('v2/memory.current', `${900 * MIB}\n`);
    expect(bed.open().memoryAvailable('memory.available')?.availableBytes).toBe(100 * MIB);
  });
});
